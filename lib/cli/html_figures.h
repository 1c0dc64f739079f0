// The drawn parts of a report's page.
#pragma once

#include <string>

#include "check/report.h"
#include "cli/html_items.h"

namespace vtower::cli {

// The worst token's box on its photograph; empty where there is none.
std::string html_worst_picture(const Worst& worst, const Report& report, const HtmlItems& items);

// The colours of errors, then of every drawn item its errors over its photograph and the tokens of
// both sides in colours.
std::string html_item_figures(const Report& report, const HtmlItems& items);

}  // namespace vtower::cli
