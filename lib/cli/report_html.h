// A report as one self-contained page: verdict, cause, photographs with the errors over them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "check/report.h"
#include "cli/html_depth.h"
#include "cli/html_items.h"

namespace vtower::cli {

// What a page shows beside the report.
struct HtmlPictures {
  HtmlItems items;
  std::optional<HtmlDepth> depth;
};

// UTF-8. No script, nothing from elsewhere: a policy in the page forbids requests. `pictures` must
// be of this report (its places in pairs are used).
std::string report_html(const Report& report, const HtmlPictures& pictures);

// Appears complete or not at all. Throws Error{unreadable} where it cannot be written.
void write_html(const std::filesystem::path& path, const Report& report,
                const HtmlPictures& pictures);

}  // namespace vtower::cli
