// Decoding several items at once.
#pragma once

#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "core/item.h"

namespace vtower {

using LoadResult = std::variant<LoadedItem, ItemFailure>;

// The items of the given indices, in their order, decoded by at most `threads` threads.
// `on_loaded` (may be empty) is called from any of them, one call at a time, with the number done.
std::vector<LoadResult> load_items(const ItemSource& source, std::span<const std::size_t> items,
                                   int threads,
                                   const std::function<void(std::size_t done)>& on_loaded = {});

// All items.
std::vector<LoadResult> load_items(const ItemSource& source, int threads,
                                   const std::function<void(std::size_t done)>& on_loaded = {});

}  // namespace vtower
