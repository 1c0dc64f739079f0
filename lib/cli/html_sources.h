// Where the pictures and the chart of a judged report come from.
#pragma once

#include <filesystem>
#include <optional>

#include "check/dump.h"
#include "cli/html_depth.h"
#include "cli/html_items.h"
#include "cli/judgement.h"
#include "cli/terminal.h"

namespace vtower::cli {

// Of judged(): the pixels of its items, the runs' tokens beside the oracle's. `input` must outlive
// what is returned. The oracle runs again for each item that is drawn.
PictureSource picture_source(const JudgementInput& input);

// Of two dumps against each other: their tokens, no pixels. Both must outlive what is returned.
PictureSource picture_source(const Dump& a, const Dump& b, std::int64_t merge_size);

// Error by depth of the item with the worst token: of the sound tower, or with the report's cause
// in it where one was found. `k` as in the policy. Empty where nothing was judged.
std::optional<HtmlDepth> depth_of(const Report& report, const JudgementInput& input, double k);

// The pages of a concluded report: of judged(), with photographs, pictures of tokens and the error
// by depth; and of two dumps without a tower. Shows progress. Throws as write_html() does.
void write_html(const std::filesystem::path& path, const Report& report,
                const JudgementInput& input, double k, const Terminal& terminal);
void write_html(const std::filesystem::path& path, const Report& report, const Dump& a,
                const Dump& b, std::int64_t merge_size);

}  // namespace vtower::cli
