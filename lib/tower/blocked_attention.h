// Attention on CPUs that multiply bf16 natively, where LibTorch's goes through float32 products.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace vtower {

// Sequences with fewer rows are better off with LibTorch's attention.
constexpr std::int64_t least_blocked_rows = 256;

// Whether attend_blocked() takes values of this type on this CPU: bf16, x86 with AVX-512 BF16.
bool blocked_attention_serves(at::ScalarType type);

// softmax(q k^T / sqrt(head_dim)) v of one sequence. qkv: bf16 [n, 3, heads, head_dim], contiguous,
// head_dim even; out: bf16 [n, heads * head_dim], contiguous. Blocks of queries go over blocks of
// keys by oneDNN's products with float32 sums; softmax in float32 by running maxima (Milakov and
// Gimelshein, "Online normalizer calculation for softmax"), probabilities rounded to bf16 before
// the second product, the result rounded once. Temporary memory: keys and values once more.
void attend_blocked(const at::Tensor& qkv, const at::Tensor& out);

}  // namespace vtower
