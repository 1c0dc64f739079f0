// Qwen2.5-VL: RMSNorm, gated MLP, attention within windows except in some blocks.
//
// The reference reorders its rows so that windows are contiguous. Nothing is reordered here: a
// patch's window follows from its coordinates. Only stages are handed out in window order.
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "oracle/pieces.h"

namespace vtower::oracle {
namespace {

struct Window {
  std::int64_t t, row, column;
  friend auto operator<=>(const Window&, const Window&) = default;
};

std::vector<Window> windows_of(const Item& item, const VisionConfig& config) {
  const std::int64_t side = config.window_size / config.layout.patch_size;  // in patches
  std::vector<Window> windows;
  for (const PatchPlace& place : item.places) {
    windows.push_back({place.t, place.y / side, place.x / side});
  }
  return windows;
}

std::vector<std::int64_t> window_labels(const std::vector<Window>& windows) {
  std::map<Window, std::int64_t> number;
  std::vector<std::int64_t> labels;
  for (const Window& window : windows) {
    labels.push_back(
        number.emplace(window, static_cast<std::int64_t>(number.size())).first->second);
  }
  return labels;
}

// Tokens sorted by window; within a window they keep their raster order.
std::vector<std::int64_t> window_order(const std::vector<Window>& windows,
                                       const VisionConfig& config) {
  const auto patches =
      static_cast<std::size_t>(config.layout.merge_size * config.layout.merge_size);
  std::vector<std::int64_t> order(windows.size() / patches);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return windows[static_cast<std::size_t>(a) * patches] <
           windows[static_cast<std::size_t>(b) * patches];
  });
  return order;
}

}  // namespace

TowerResult encode_qwen2_5_vl(const Item& item, const Weights& weights, const VisionConfig& config,
                              StageLog& log) {
  const std::vector<Window> windows = windows_of(item, config);
  const std::vector<std::int64_t> in_window = window_labels(windows);
  const std::vector<std::int64_t> in_frame = frame_labels(item.places);
  const at::Tensor order = at::tensor(window_order(windows, config), at::kLong);
  log.put("window_index", order);
  const auto put_in_window_order = [&](const std::string& name, const at::Tensor& rows) {
    if (!log.wants(name)) return;
    const std::int64_t patches = config.layout.merge_size * config.layout.merge_size;
    const at::Tensor tokens = rows.reshape({-1, patches, rows.size(1)});
    log.put(name, tokens.index_select(0, order).reshape({-1, rows.size(1)}));
  };

  at::Tensor h = patch_embed(item.normalized, weights);
  log.put("patch_embed", h);
  put_in_window_order("block_input", h);
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    const std::string stage = "block." + std::to_string(i);
    const bool whole_frame =
        std::count(config.full_attention_blocks.begin(), config.full_attention_blocks.end(), i) > 0;
    const at::Tensor attn =
        attention(rms_norm(h, weights, block + ".norm1", config.norm_eps), weights, block + ".attn",
                  config, item.places, whole_frame ? in_frame : in_window);
    put_in_window_order(stage + ".attn", attn);
    h = h + attn;
    const at::Tensor normed = rms_norm(h, weights, block + ".norm2", config.norm_eps);
    const at::Tensor gate =
        activate(linear(normed, weights, block + ".mlp.gate_proj"), config.hidden_act);
    const at::Tensor mlp = linear(gate * linear(normed, weights, block + ".mlp.up_proj"), weights,
                                  block + ".mlp.down_proj");
    put_in_window_order(stage + ".mlp", mlp);
    h = h + mlp;
    put_in_window_order(stage, h);
  }
  const at::Tensor joined =
      join_patches(rms_norm(h, weights, "merger.ln_q", config.norm_eps), config);
  const at::Tensor inner = activate(linear(joined, weights, "merger.mlp.0"), Activation::gelu);
  return {linear(inner, weights, "merger.mlp.2"), {}};
}

}  // namespace vtower::oracle
