// The items of a report that are drawn, with their pictures.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "check/report.h"
#include "cli/png_image.h"
#include "core/frame.h"
#include "core/patch_layout.h"
#include "core/raw_patches.h"

namespace vtower::cli {

// One temporal group of an item; a still picture is one.
struct HtmlGroup {
  std::int64_t group = 0;
  std::optional<Frame> photograph;  // its first frame, scaled down
  std::optional<RgbaImage> pca_a;   // a pixel for each token
  std::optional<RgbaImage> pca_b;
};

struct HtmlItem {
  std::size_t pair = 0;   // in Report::pairs
  std::size_t entry = 0;  // in PairReport::items: the tensor that uses most of its limit
  GridThw tokens;         // groups of rows of tokens; without a grid: lines of a strip
  std::optional<std::int64_t> factor;  // pixels a token, side
  std::int64_t frames_in_group = 1;
  std::vector<HtmlGroup> groups;  // those with the largest errors, in order
};

struct HtmlItems {
  std::vector<HtmlItem> drawn;  // the worst first
  std::size_t of = 0;           // items in the report
};

// Where pictures come from; whatever is empty is not drawn.
struct PictureSource {
  // The two sides of one tensor of an item, [tokens, width] on the CPU.
  struct Sides {
    at::Tensor a;
    at::Tensor b;
  };

  std::int64_t merge_size = 2;
  std::function<std::optional<RawPatches>(const ItemReport& item)> pixels;  // one item
  std::function<std::optional<Sides>(std::size_t pair, const ItemReport& item)> tokens;
  std::function<void(std::size_t done, std::size_t of)> on_progress;
};

// At most 20 items and 4 groups of each, whose photographs are at most 512 pixels wide and high.
HtmlItems html_items(const Report& report, const PictureSource& source);

}  // namespace vtower::cli
