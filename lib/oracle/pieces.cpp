#include "oracle/pieces.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vtower::oracle {
namespace {

// Angles [N, head_dim / 2]: the first half turns with the row, the second with the column.
at::Tensor rotary_angles(const VisionConfig& config, const std::vector<PatchPlace>& places) {
  const std::int64_t half = config.head_dim() / 2;
  const std::int64_t quarter = half / 2;
  at::Tensor angles = at::empty({static_cast<std::int64_t>(places.size()), half}, at::kDouble);
  auto* out = angles.mutable_data_ptr<double>();
  for (const PatchPlace& place : places) {
    for (std::int64_t j = 0; j < half; ++j) {
      const std::int64_t position = j < quarter ? place.y : place.x;
      const auto exponent = static_cast<double>(2 * (j % quarter)) / static_cast<double>(half);
      *out++ = static_cast<double>(position) / std::pow(config.rope_theta, exponent);
    }
  }
  return angles;
}

// Turns each pair (u_c, u_{c + head_dim / 2}) of u [N, heads, head_dim] by its angle.
at::Tensor rotate(const at::Tensor& u, const at::Tensor& cos, const at::Tensor& sin) {
  const std::int64_t half = u.size(2) / 2;
  const at::Tensor a = u.narrow(2, 0, half);
  const at::Tensor b = u.narrow(2, half, half);
  return at::cat({a * cos - b * sin, b * cos + a * sin}, 2);
}

// softmax(q k^T / sqrt(d)) v of one head and one group [n, d], in slabs of query rows so that no
// score matrix grows with n^2.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  constexpr std::int64_t slab = 512;
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(1)));
  at::Tensor out = at::empty_like(q);
  for (std::int64_t first = 0; first < q.size(0); first += slab) {
    const std::int64_t count = std::min(slab, q.size(0) - first);
    const at::Tensor scores = at::matmul(q.narrow(0, first, count), k.t()) * scale;
    out.narrow(0, first, count).copy_(at::matmul(at::softmax(scores, 1), v));
  }
  return out;
}

}  // namespace

std::vector<PatchPlace> places_in_merge_order(const GridThw& grid, std::int64_t merge_size) {
  std::vector<PatchPlace> places;
  for (std::int64_t t = 0; t < grid.t; ++t) {
    for (std::int64_t top = 0; top < grid.h; top += merge_size) {
      for (std::int64_t left = 0; left < grid.w; left += merge_size) {
        for (std::int64_t y = top; y < top + merge_size; ++y) {
          for (std::int64_t x = left; x < left + merge_size; ++x) places.push_back({t, y, x});
        }
      }
    }
  }
  return places;
}

void StageLog::put(const std::string& name, const at::Tensor& value) {
  if (!wants(name)) return;
  const bool as_it_is = name == "normalized" || name == "window_index";
  stages_[name] = as_it_is ? value : value.to(at::kDouble);
}

at::Tensor linear(const at::Tensor& x, const Weights& weights, const std::string& name) {
  return at::matmul(x, weights(name + ".weight").t()) + weights(name + ".bias");
}

at::Tensor layer_norm(const at::Tensor& x, const Weights& weights, const std::string& name,
                      double eps) {
  const at::Tensor centred = x - x.mean(-1, true);
  const at::Tensor variance = (centred * centred).mean(-1, true);
  return centred / (variance + eps).sqrt() * weights(name + ".weight") + weights(name + ".bias");
}

at::Tensor rms_norm(const at::Tensor& x, const Weights& weights, const std::string& name,
                    double eps) {
  const at::Tensor mean_square = (x * x).mean(-1, true);
  return x / (mean_square + eps).sqrt() * weights(name + ".weight");
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::quick_gelu: return x * at::sigmoid(x * 1.702);
    case Activation::silu: return x * at::sigmoid(x);
    case Activation::gelu: return x * 0.5 * (at::erf(x / std::numbers::sqrt2) + 1.0);
    case Activation::gelu_tanh: break;
  }
  const double root = std::sqrt(2.0 / std::numbers::pi);
  return x * 0.5 * (at::tanh((x + x * x * x * 0.044715) * root) + 1.0);
}

at::Tensor patch_embed(const at::Tensor& normalized, const Weights& weights) {
  const at::Tensor kernel = weights("patch_embed.proj.weight");
  return at::matmul(normalized.to(weights.type), kernel.reshape({kernel.size(0), -1}).t());
}

at::Tensor attention(const at::Tensor& x, const Weights& weights, const std::string& name,
                     const VisionConfig& config, const std::vector<PatchPlace>& places,
                     const std::vector<std::int64_t>& labels) {
  const std::int64_t head_dim = config.head_dim();
  const at::Tensor qkv = linear(x, weights, name + ".qkv");
  const auto heads_of = [&](std::int64_t third) {
    return qkv.narrow(1, third * config.width, config.width)
        .reshape({x.size(0), config.heads, head_dim});
  };
  const at::Tensor angles = rotary_angles(config, places).unsqueeze(1);
  const at::Tensor cos = angles.cos().to(weights.type);
  const at::Tensor sin = angles.sin().to(weights.type);
  const at::Tensor q = rotate(heads_of(0), cos, sin);
  const at::Tensor k = rotate(heads_of(1), cos, sin);
  const at::Tensor v = heads_of(2);

  std::map<std::int64_t, std::vector<std::int64_t>> rows_of_label;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    rows_of_label[labels[row]].push_back(static_cast<std::int64_t>(row));
  }
  at::Tensor mixed = at::empty_like(q);
  for (const auto& [label, row_numbers] : rows_of_label) {
    const at::Tensor rows = at::tensor(row_numbers, at::kLong);
    const at::Tensor group_q = q.index_select(0, rows);
    const at::Tensor group_k = k.index_select(0, rows);
    const at::Tensor group_v = v.index_select(0, rows);
    at::Tensor group = at::empty_like(group_q);
    for (std::int64_t h = 0; h < config.heads; ++h) {
      group.select(1, h).copy_(
          attend(group_q.select(1, h), group_k.select(1, h), group_v.select(1, h)));
    }
    mixed.index_copy_(0, rows, group);
  }
  return linear(mixed.reshape({x.size(0), config.width}), weights, name + ".proj");
}

std::vector<std::int64_t> frame_labels(const std::vector<PatchPlace>& places) {
  std::vector<std::int64_t> labels;
  for (const PatchPlace& place : places) labels.push_back(place.t);
  return labels;
}

at::Tensor join_patches(const at::Tensor& x, const VisionConfig& config) {
  const std::int64_t patches = config.layout.merge_size * config.layout.merge_size;
  return x.reshape({x.size(0) / patches, patches * x.size(1)});
}

}  // namespace vtower::oracle
