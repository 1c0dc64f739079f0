// Where in the pictures the tokens beyond the limit are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/report.h"
#include "core/grid_thw.h"
#include "core/patch_layout.h"

namespace vtower {

// How tokens lie in pictures, where it is known.
struct PlaceLayout {
  std::optional<PatchLayout> patches;
  std::optional<std::int64_t> window_tokens;  // side of an attention window
};

// The tokens of one tensor of one item, row by row of each temporal group.
struct PlaceItem {
  std::string name;
  std::optional<GridThw> grid;    // in patches
  std::span<const float> errors;  // of each token; NaN is beyond any limit
  double limit = 0;
  std::optional<std::int64_t> rank;  // that ran it
};

// The set of tokens beyond their limit in words. A class of tokens is named where 95 % of it are
// beyond the limit and it holds 95 % of those beyond; of several the first: "all tokens", "all
// tokens of item x", "the last n tokens of the batch", "all items of rank r", "the first frame
// group", "the last frame group", "window borders (side n)", "every nth token", "the rim of the
// picture". In one item of several: "item x: " and a class of its tokens. Else "n of m tokens,
// scattered". Empty where no token is beyond its limit.
std::string bad_tokens_in_words(std::span<const PlaceItem> items, const PlaceLayout& layout);

// Fills in box_px and frames of a token: left, top, right, bottom in pixels of the resized picture,
// first and last frame of a clip as sampled.
void locate(const GridThw& grid, const PatchLayout& patches, Worst& worst);

// The worst token of all pairs: that of the largest share of its limit, which is infinite where it
// is not finite. `ranks`: of the items by name, where known. Empty where nothing was compared.
std::optional<Worst> worst_of(std::span<const PairReport> pairs, const PlaceLayout& layout,
                              const std::vector<std::pair<std::string, std::int64_t>>& ranks);

}  // namespace vtower
