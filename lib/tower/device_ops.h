// What the tower's leaves do on a GPU by kernels of their own. The plain definitions stand beside
// the CPU code (input_norm.cpp, rotary.cpp, vision_attention.cpp) and are what tests compare.
#pragma once

#include <ATen/core/Tensor.h>

#include "tower/plan_tensors.h"
#include "tower/rotary.h"

namespace vtower::device {

// bytes: uint8 [N, K] on the GPU, channel-major rows; table: float32 [3, 256] on the GPU. The
// table's values in dtype `type`, cast once; one pass, no temporary. In a build without CUDA parts
// all of these throw Error{mode_unavailable}.
at::Tensor normalize(const at::Tensor& bytes, const at::Tensor& table, at::ScalarType type);

// As rotate_queries_and_keys.
void rotate(at::Tensor& qkv, const Rotation& rotation);

// As attend_within_sequences, by LibTorch's flash attention (bf16, fp16) or memory-efficient
// attention (fp32), both over offsets on the device.
at::Tensor attend(const at::Tensor& qkv, const Sequences& sequences);

}  // namespace vtower::device
