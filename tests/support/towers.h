// What the tests of several modes share: tiny towers, noise, comparison of items.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/runner.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"
#include "tower/vision_tower.h"

namespace vtower::test {

inline const std::vector<std::string> families{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"};

inline VisionTower load_tower(const std::string& checkpoint, const Placement& placement) {
  return VisionTower::load(Checkpoint::open(golden("towers/checkpoints") / checkpoint), placement);
}

inline VisionTower tiny_tower(const std::string& family, const Placement& placement = {}) {
  return load_tower(family + "-tiny-fp32", placement);
}

inline RawPatches noise_patches(const PatchLayout& layout, std::vector<GridThw> grids,
                                std::uint32_t seed) {
  std::int64_t rows = 0;
  for (const GridThw& grid : grids) rows += grid.patches();
  ByteBuffer bytes(static_cast<std::size_t>(rows * layout.row_width()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    bytes.data()[i] = static_cast<std::uint8_t>(seed >> 24);
  }
  return RawPatches::from_rows(std::move(bytes), std::move(grids), layout);
}

// The largest relative error (Frobenius) over items and levels; NaN stays NaN.
inline double largest_error(const std::vector<ItemEmbeddings>& a,
                            const std::vector<ItemEmbeddings>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  const auto compare = [&](const at::Tensor& x, const at::Tensor& y) {
    const double error = relative_error(x.cpu(), y.cpu());
    if (!(error <= largest)) largest = error;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    compare(a[i].embeddings, b[i].embeddings);
    REQUIRE(a[i].deepstack.size() == b[i].deepstack.size());
    for (std::size_t j = 0; j < a[i].deepstack.size(); ++j) {
      compare(a[i].deepstack[j], b[i].deepstack[j]);
    }
  }
  return largest;
}

inline bool same_bits(const std::vector<ItemEmbeddings>& a, const std::vector<ItemEmbeddings>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].embeddings.equal(b[i].embeddings)) return false;
    for (std::size_t j = 0; j < a[i].deepstack.size(); ++j) {
      if (!a[i].deepstack[j].equal(b[i].deepstack[j])) return false;
    }
  }
  return true;
}

// Batches of every kind: one window, several, ragged, clips, many items.
inline const std::vector<std::vector<GridThw>> mixed_grids{{{1, 2, 2}},
                                                           {{1, 8, 8}},
                                                           {{1, 6, 10}},
                                                           {{2, 6, 10}, {1, 18, 2}},
                                                           {{1, 2, 2}, {1, 16, 16}},
                                                           {{3, 4, 4}, {1, 2, 30}, {1, 10, 6}},
                                                           {{1, 30, 34}}};

}  // namespace vtower::test
