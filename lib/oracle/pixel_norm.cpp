#include "oracle/pixel_norm.h"

#include <ATen/ops/empty.h>

#include <cassert>

namespace vtower::oracle {

PixelNorm::PixelNorm(const NormConstants& constants) {
  const auto scale = static_cast<float>(1.0 / constants.rescale_factor());
  for (std::size_t c = 0; c < 3; ++c) {
    const float mean = static_cast<float>(constants.mean()[c]) * scale;
    const float std = static_cast<float>(constants.std()[c]) * scale;
    for (int u = 0; u < 256; ++u) {
      table_[c][static_cast<std::size_t>(u)] = (static_cast<float>(u) - mean) / std;
    }
  }
}

at::Tensor PixelNorm::operator()(const RawPatches& patches, std::size_t item) const {
  assert(item < patches.grids().size());
  std::int64_t first_row = 0;
  for (std::size_t i = 0; i < item; ++i) first_row += patches.grids()[i].patches();
  const std::int64_t rows = patches.grids()[item].patches();
  const std::int64_t width = patches.row_width();
  const std::int64_t channel_width = width / 3;

  at::Tensor normalized = at::empty({rows, width}, at::kFloat);
  auto* out = normalized.mutable_data_ptr<float>();
  const std::uint8_t* in = patches.bytes(RawBytesKey()).data() + first_row * width;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      const auto channel = static_cast<std::size_t>(i / channel_width);
      *out++ = table_[channel][*in++];
    }
  }
  return normalized;
}

}  // namespace vtower::oracle
