// A made-up report in which every part of a page has something to say.
#pragma once

#include <string>

#include "check/report.h"
#include "cli/html_items.h"
#include "cli/report_html.h"

namespace vtower::test {

// A name that is markup, an attribute's end, an entity and no UTF-8.
inline const std::string nasty_name = "pictures/<script>alert(1)</script>&\"x'\xFF.png";

// An item of `tokens`, the error growing from 0.1 % of the limit to `worst` limits.
ItemReport html_entry(const std::string& name, const GridThw& tokens, double worst);

Report full_report();

// Pictures and tokens of any item with a grid but "broken.png"; the second side is the first one,
// disturbed.
cli::PictureSource picture_source();

cli::HtmlPictures full_pictures(const Report& report);

}  // namespace vtower::test
