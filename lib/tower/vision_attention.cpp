#include "tower/vision_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "tower/blocked_attention.h"
#include "tower/device_ops.h"

namespace vtower {

at::Tensor attend_within_sequences(const at::Tensor& qkv, const Sequences& sequences) {
  if (!qkv.is_cpu()) return device::attend(qkv, sequences);
  const std::int64_t heads = qkv.size(2);
  const std::int64_t head_dim = qkv.size(3);
  at::Tensor out = at::empty({qkv.size(0), heads * head_dim}, qkv.options());
  const std::span<const std::int32_t> cu = sequences.host_cu_seqlens;
  const bool blocked = blocked_attention_serves(qkv.scalar_type()) && qkv.is_contiguous();
  for (std::size_t first = 0; first + 1 < cu.size();) {
    // Neighbours of one length go as one batch: a Qwen2.5-VL frame has hundreds of windows.
    const std::int64_t length = cu[first + 1] - cu[first];
    std::size_t end = first + 1;
    while (end + 1 < cu.size() && cu[end + 1] - cu[end] == length) ++end;
    const auto count = static_cast<std::int64_t>(end - first);
    if (length == 0) {  // empty slots of a padded plan
      first = end;
      continue;
    }
    if (blocked && length >= least_blocked_rows) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = cu[first] + i * length;
        attend_blocked(qkv.narrow(0, row, length), out.narrow(0, row, length));
      }
      first = end;
      continue;
    }
    // [count, length, 3, heads, d] -> three of [count, heads, length, d]
    const at::Tensor part = qkv.narrow(0, cu[first], count * length)
                                .view({count, length, 3, heads, head_dim})
                                .permute({2, 0, 3, 1, 4});
    const at::Tensor attended = at::scaled_dot_product_attention(part[0], part[1], part[2]);
    out.narrow(0, cu[first], count * length)
        .view({count, length, heads, head_dim})
        .copy_(attended.transpose(1, 2));
    first = end;
  }
  return out;
}

VisionAttention::VisionAttention(WeightSource& weights, const std::string& block,
                                 const VisionConfig& config, const Placement& placement)
    : heads_(config.heads),
      qkv_(weights.take_qkv(block + ".attn.qkv.weight", {3 * config.width, config.width}),
           weights.take_qkv(block + ".attn.qkv.bias", {3 * config.width}), placement),
      proj_(weights, block + ".attn.proj", config.width, config.width, placement) {}

at::Tensor VisionAttention::operator()(const at::Tensor& x, const Sequences& sequences,
                                       const Rotation& rotation) const {
  at::Tensor qkv = qkv_(x).view({x.size(0), 3, heads_, x.size(1) / heads_});
  rotate_queries_and_keys(qkv, rotation);
  return proj_(attend_within_sequences(qkv, sequences));
}

}  // namespace vtower
