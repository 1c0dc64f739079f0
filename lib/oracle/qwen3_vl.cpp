// Qwen3-VL: learned positions, tanh GELU, deepstack outputs of some blocks.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "oracle/pieces.h"

namespace vtower::oracle {
namespace {

// Linear interpolation in a table of side x side rows whose corners lie on the corner patches.
at::Tensor positions(const Item& item, const at::Tensor& table, std::int64_t side) {
  const auto coordinate = [&](std::int64_t at, std::int64_t count) {
    return count > 1 ? static_cast<double>(at * (side - 1)) / static_cast<double>(count - 1) : 0.0;
  };
  at::Tensor result =
      at::zeros({static_cast<std::int64_t>(item.places.size()), table.size(1)}, table.options());
  for (std::size_t row = 0; row < item.places.size(); ++row) {
    const double v = coordinate(item.places[row].y, item.grid.h);
    const double u = coordinate(item.places[row].x, item.grid.w);
    at::Tensor sum = result.select(0, static_cast<std::int64_t>(row));
    for (const double dy : {0.0, 1.0}) {
      for (const double dx : {0.0, 1.0}) {
        const double y = std::floor(v) + dy;
        const double x = std::floor(u) + dx;
        const double weight = (1.0 - std::abs(v - y)) * (1.0 - std::abs(u - x));
        if (weight <= 0.0) continue;  // also every corner outside of the table
        sum.add_(
            table.select(0, static_cast<std::int64_t>(y) * side + static_cast<std::int64_t>(x)),
            weight);
      }
    }
  }
  return result;
}

at::Tensor fully_connected(const at::Tensor& joined, const Weights& weights,
                           const std::string& name) {
  const at::Tensor inner =
      activate(linear(joined, weights, name + ".linear_fc1"), Activation::gelu);
  return linear(inner, weights, name + ".linear_fc2");
}

}  // namespace

TowerResult encode_qwen3_vl(const Item& item, const Weights& weights, const VisionConfig& config,
                            StageLog& log) {
  at::Tensor h = patch_embed(item.normalized, weights) + weights("patch_embed.proj.bias");
  log.put("patch_embed", h);
  const at::Tensor pos_embed =
      positions(item, weights("pos_embed.weight"), config.position_table_side);
  log.put("pos_embed", pos_embed);
  h = h + pos_embed;
  log.put("block_input", h);

  std::vector<at::Tensor> deepstack;
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    const std::string stage = "block." + std::to_string(i);
    const at::Tensor attn =
        attention(layer_norm(h, weights, block + ".norm1", config.norm_eps), weights,
                  block + ".attn", config, item.places, frame_labels(item.places));
    log.put(stage + ".attn", attn);
    h = h + attn;
    const at::Tensor inner = linear(layer_norm(h, weights, block + ".norm2", config.norm_eps),
                                    weights, block + ".mlp.linear_fc1");
    const at::Tensor mlp =
        linear(activate(inner, config.hidden_act), weights, block + ".mlp.linear_fc2");
    log.put(stage + ".mlp", mlp);
    h = h + mlp;
    log.put(stage, h);

    // The merger is found by the block's place in the list; outputs come in order of blocks.
    const auto found = std::find(config.deepstack_blocks.begin(), config.deepstack_blocks.end(), i);
    if (found == config.deepstack_blocks.end()) continue;
    const std::string merger =
        "deepstack_merger_list." + std::to_string(found - config.deepstack_blocks.begin());
    const at::Tensor normed =
        layer_norm(join_patches(h, config), weights, merger + ".norm", config.norm_eps);
    deepstack.push_back(fully_connected(normed, weights, merger));
    log.put("deepstack." + std::to_string(deepstack.size() - 1), deepstack.back());
  }
  const at::Tensor joined =
      join_patches(layer_norm(h, weights, "merger.norm", config.norm_eps), config);
  return {fully_connected(joined, weights, "merger"), std::move(deepstack)};
}

}  // namespace vtower::oracle
