// Launch of the rotation of queries and keys.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tower/kernels/element.h"

namespace vtower::kernels {

// qkv: [rows, 3, heads, 2 * half] in place; cos, sin: [rows, half]. Pairs (a, b) half a head apart
// become (a cos - b sin, b cos + a sin), each operation rounded in float32, then cast once.
cudaError_t rotate_pairs(void* qkv, const float* cos, const float* sin, Element element,
                         std::int64_t rows, int heads, int half, cudaStream_t stream);

}  // namespace vtower::kernels
