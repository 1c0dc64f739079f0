// Faults of weights: dropped, in another order, in another place.
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <utility>

#include "explain/fault.h"

namespace vtower::explain {
namespace {

Fault edited(const std::string& id, const std::string& variant, const std::string& sentence,
             WeightSource::Editor weights) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.weights = std::move(weights);
  return fault;
}

bool ends_with_any(const std::string& name, const std::vector<std::string>& ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](const std::string& end) { return name.ends_with(end); });
}

bool in_merger(const std::string& name) {
  return name.starts_with("merger.") || name.starts_with("deepstack_merger_list.");
}

struct BiasGroup {
  std::string variant;
  std::string words;
  bool (*holds)(const std::string& name);
};

const std::vector<BiasGroup>& bias_groups() {
  static const std::vector<BiasGroup> groups{
      {"qkv", "the biases of q, k and v",
       [](const std::string& name) { return name.ends_with("attn.qkv.bias"); }},
      {"proj", "the biases of the attention's output",
       [](const std::string& name) { return name.ends_with("attn.proj.bias"); }},
      {"mlp_up", "the biases of the MLPs' first layers",
       [](const std::string& name) {
         return ends_with_any(name, {"mlp.fc1.bias", "mlp.linear_fc1.bias", "gate_proj.bias",
                                     "up_proj.bias"}) &&
                !in_merger(name);
       }},
      {"mlp_down", "the biases of the MLPs' last layers",
       [](const std::string& name) {
         return ends_with_any(name, {"mlp.fc2.bias", "mlp.linear_fc2.bias", "down_proj.bias"}) &&
                !in_merger(name);
       }},
      {"mlp", "the biases of the MLPs",
       [](const std::string& name) {
         return name.find(".mlp.") != std::string::npos && name.ends_with(".bias") &&
                !in_merger(name);
       }},
      {"attn", "the biases of the attention",
       [](const std::string& name) {
         return name.find(".attn.") != std::string::npos && name.ends_with(".bias");
       }},
      {"norm", "the biases of the blocks' norms",
       [](const std::string& name) {
         return ends_with_any(name, {"norm1.bias", "norm2.bias"});
       }},
      {"merger", "the biases of the mergers",
       [](const std::string& name) {
         return in_merger(name) && name.ends_with(".bias") &&
                !ends_with_any(name, {"norm.bias", "ln_q.bias"});
       }},
      {"merger_norm", "the biases of the mergers' norms",
       [](const std::string& name) {
         return ends_with_any(name, {".norm.bias", "ln_q.bias"});
       }},
      {"patch_embed", "the bias of the patch embedding",
       [](const std::string& name) { return name == "patch_embed.proj.bias"; }},
      {"all", "all biases", [](const std::string& name) { return name.ends_with(".bias"); }}};
  return groups;
}

void add_biases(std::vector<Fault>& faults, Family family) {
  for (const BiasGroup& group : bias_groups()) {
    if (family != Family::qwen3_vl && group.variant == "patch_embed") continue;
    if (family == Family::qwen2_5_vl &&
        (group.variant == "norm" || group.variant == "merger_norm")) {
      continue;  // RMSNorm has none
    }
    faults.push_back(
        edited("bias_dropped", group.variant, group.words + " were dropped",
               [holds = group.holds](const std::string& name, const at::Tensor& stored) {
                 return holds(name) ? at::zeros_like(stored) : stored;
               }));
  }
}

// Rows of qkv, [3 * width, ...] or [3 * width], moved as `move` says.
Fault qkv(const std::string& id, const std::string& variant, const std::string& sentence,
          std::function<at::Tensor(const at::Tensor&)> move) {
  return edited(id, variant, sentence,
                [move = std::move(move)](const std::string& name, const at::Tensor& stored) {
                  return name.find("attn.qkv.") == std::string::npos ? stored : move(stored);
                });
}

void add_qkv_orders(std::vector<Fault>& faults, const VisionConfig& config) {
  const std::string letters = "qkv";
  std::array<std::int64_t, 3> order{0, 1, 2};
  while (std::next_permutation(order.begin(), order.end())) {
    std::string variant;
    for (const std::int64_t third : order) variant += letters[static_cast<std::size_t>(third)];
    faults.push_back(qkv("qkv_order", variant, "rows of qkv were read as " + variant,
                         [order](const at::Tensor& rows) {
                           const auto thirds = rows.chunk(3);
                           std::vector<at::Tensor> moved;
                           for (const std::int64_t third : order) {
                             moved.push_back(thirds[static_cast<std::size_t>(third)]);
                           }
                           return at::cat(moved);
                         }));
  }
  const std::int64_t heads = config.heads;
  const std::int64_t head_dim = config.head_dim();
  const auto with_axes = [](const at::Tensor& rows, std::vector<std::int64_t> axes) {
    if (rows.dim() == 2) axes.push_back(rows.size(1));
    return rows.reshape(axes);
  };
  faults.push_back(qkv("qkv_order", "by-head", "rows of qkv were read head by head",
                       [=](const at::Tensor& rows) {
                         return with_axes(rows, {heads, 3, head_dim})
                             .transpose(0, 1)
                             .reshape(rows.sizes())
                             .contiguous();
                       }));
  faults.push_back(qkv("qkv_order", "interleaved", "rows of qkv were read value by value",
                       [=](const at::Tensor& rows) {
                         return with_axes(rows, {heads * head_dim, 3})
                             .transpose(0, 1)
                             .reshape(rows.sizes())
                             .contiguous();
                       }));
  // Neighbours form a pair instead of values half a head apart: the same as moving the rows of q
  // and k so that the halves hold them.
  faults.push_back(qkv("rope_halves_swapped", "interleaved",
                       "the rotation pairs neighbouring values instead of the halves of a head",
                       [=](const at::Tensor& rows) {
                         auto thirds = rows.chunk(3);
                         for (std::size_t third = 0; third < 2; ++third) {
                           thirds[third] = with_axes(thirds[third], {heads, head_dim / 2, 2})
                                               .transpose(1, 2)
                                               .reshape(thirds[third].sizes());
                         }
                         return at::cat(thirds);
                       }));
}

void add_mergers(std::vector<Fault>& faults, const VisionConfig& config) {
  const std::int64_t group = config.layout.merge_size * config.layout.merge_size;
  const auto is_norm = [](const std::string& name) {
    return name.find("ln_q.") != std::string::npos ||
           name.find("merger.norm.") != std::string::npos;
  };
  Fault joined = edited("merger_norm_misplaced", "after-joining",
                        "the merger's norm sees joined tokens instead of patches",
                        [=](const std::string& name, const at::Tensor& stored) {
                          return is_norm(name) ? stored.repeat({group}) : stored;
                        });
  joined.config = [](VisionConfig& altered) { altered.merger_norm = MergerNorm::per_token; };
  faults.push_back(std::move(joined));
  if (config.deepstack_blocks.empty()) return;
  Fault apart =
      edited("merger_norm_misplaced", "deepstack-before-joining",
             "the deepstack mergers' norms see patches instead of joined tokens",
             [=](const std::string& name, const at::Tensor& stored) {
               const bool norm = name.starts_with("deepstack_merger_list.") &&
                                 name.find(".norm.") != std::string::npos;
               return norm ? stored.narrow(0, 0, stored.size(0) / group).contiguous() : stored;
             });
  apart.config = [](VisionConfig& altered) { altered.deepstack_norm = MergerNorm::per_patch; };
  faults.push_back(std::move(apart));

  const auto levels = static_cast<std::int64_t>(config.deepstack_blocks.size());
  for (const std::int64_t by : {1, -1}) {
    std::vector<std::int64_t> blocks = config.deepstack_blocks;
    for (std::int64_t& block : blocks) {
      block = std::clamp<std::int64_t>(block + by, 0, config.depth - 1);
    }
    auto distinct = blocks;
    std::sort(distinct.begin(), distinct.end());
    if (std::unique(distinct.begin(), distinct.end()) != distinct.end()) continue;
    Fault fault;
    fault.id = "deepstack_shifted";
    fault.variant = by == 1 ? "" : "before";
    fault.sentence =
        std::string("every deepstack level is taken one block too ") + (by == 1 ? "late" : "early");
    fault.config = [blocks](VisionConfig& altered) { altered.deepstack_blocks = blocks; };
    faults.push_back(std::move(fault));
  }
  if (levels > 1) {
    Fault fault;
    fault.id = "deepstack_order";
    fault.variant = "mergers";
    fault.sentence = "the deepstack mergers are used in reverse order";
    fault.config = [](VisionConfig& altered) {
      std::reverse(altered.deepstack_blocks.begin(), altered.deepstack_blocks.end());
    };
    faults.push_back(std::move(fault));
  }
}

}  // namespace

std::vector<Fault> weight_faults(const Setting& setting) {
  std::vector<Fault> faults;
  add_biases(faults, setting.config.family);
  add_qkv_orders(faults, setting.config);
  add_mergers(faults, setting.config);
  return faults;
}

}  // namespace vtower::explain
