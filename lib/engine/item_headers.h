// The headers of a request, and what can be planned of it.
#pragma once

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "core/item.h"
#include "engine/batch_plan.h"

namespace vtower {

using HeaderResult = std::variant<ItemHeader, ItemFailure>;

// One for each item, in request order. Read once: a file may change.
std::vector<HeaderResult> read_headers(const ItemSource& source);

// The headers, sorted into sound and failed; both in request order.
struct SortedHeaders {
  std::vector<std::size_t> sound;  // indices into the request
  std::vector<GridThw> grids;      // of the sound items
  std::vector<std::pair<std::size_t, ItemFailure>> failed;
};
SortedHeaders sort_headers(const std::vector<HeaderResult>& headers);

// make_batch_plan() over some of the sound items, given by their places in `headers.sound`. The
// plan's indices are those of the request.
BatchPlan plan_of(const SortedHeaders& headers, const std::vector<std::size_t>& places,
                  std::int64_t max_rows);

}  // namespace vtower
