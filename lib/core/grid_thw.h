// The patch grid of one item.
#pragma once

#include <cstdint>

namespace vtower {

// t temporal groups of h x w patches. A *patch* is what enters the tower (a row of RawPatches), a
// *token* is what leaves the merger: merge_size x merge_size patches.
struct GridThw {
  std::int64_t t = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;

  [[nodiscard]] constexpr std::int64_t patches() const noexcept { return t * h * w; }
  [[nodiscard]] constexpr std::int64_t tokens(std::int64_t merge_size) const noexcept {
    return patches() / (merge_size * merge_size);
  }
  friend constexpr bool operator==(const GridThw&, const GridThw&) = default;
};

}  // namespace vtower
