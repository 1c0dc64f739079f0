// Where the pictures and the chart of a judged report come from.
#pragma once

#include <memory>
#include <optional>

#include "check/dump.h"
#include "cli/html_depth.h"
#include "cli/html_items.h"
#include "cli/judgement.h"

namespace vtower::cli {

// Of judged(): the pixels of its items, the runs' tokens beside the oracle's. `input` must outlive
// what is returned. The oracle runs again for each item that is drawn.
PictureSource picture_source(const JudgementInput& input);

// Of two dumps against each other: their tokens, no pixels. Both must outlive what is returned.
PictureSource picture_source(const Dump& a, const Dump& b, std::int64_t merge_size);

// Error by depth of the item with the worst token: of the sound tower, or with the report's cause
// in it where one was found. `k` as in the policy. Empty where nothing was judged.
std::optional<HtmlDepth> depth_of(const Report& report, const JudgementInput& input, double k);

}  // namespace vtower::cli
