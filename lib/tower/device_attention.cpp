#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_forward.h>

#include "tower/device_ops.h"

namespace vtower::device {

at::Tensor attend(const at::Tensor& qkv, const Sequences& sequences) {
  const std::int64_t rows = qkv.size(0);
  const std::int64_t longest = sequences.longest;
  const at::Tensor& cu = sequences.cu_seqlens;
  const at::Tensor q = qkv.select(1, 0);  // [N, heads, d], strided
  const at::Tensor k = qkv.select(1, 1);
  const at::Tensor v = qkv.select(1, 2);
  if (qkv.scalar_type() == at::kFloat) {
    constexpr std::int64_t no_mask = 0;
    const at::Tensor out = std::get<0>(at::_efficient_attention_forward(
        q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), std::nullopt, cu, cu, longest, longest,
        /*dropout_p=*/0.0, no_mask));
    return out.reshape({rows, -1});
  }
  const at::Tensor out = std::get<0>(at::_flash_attention_forward(
      q, k, v, cu, cu, longest, longest, /*dropout_p=*/0.0, /*is_causal=*/false,
      /*return_debug_mask=*/false));
  return out.reshape({rows, -1});
}

}  // namespace vtower::device
