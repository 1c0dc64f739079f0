#include "tower/kernels/launch.cuh"
#include "tower/kernels/rotary.h"

namespace vtower::kernels {
namespace {

// One thread a pair; q and k are the first 2 * heads heads of a row.
template <typename T>
__global__ void rotate(T* __restrict__ qkv, const float* __restrict__ cos,
                       const float* __restrict__ sin, int64_t pairs, int heads, int half) {
  const int64_t step = int64_t{gridDim.x} * block_threads;
  const int pairs_per_row = 2 * heads * half;
  for (int64_t i = blockIdx.x * int64_t{block_threads} + threadIdx.x; i < pairs; i += step) {
    const int64_t row = i / pairs_per_row;
    const int rest = static_cast<int>(i % pairs_per_row);
    const int head = rest / half;
    const int j = rest % half;
    T* a = qkv + (row * 3 * heads + head) * 2 * half + j;
    const float first = static_cast<float>(a[0]);
    const float second = static_cast<float>(a[half]);
    const float c = cos[row * half + j];
    const float s = sin[row * half + j];
    // As the definition: every product and sum rounded, no fused multiply-add.
    a[0] = static_cast<T>(__fsub_rn(__fmul_rn(first, c), __fmul_rn(second, s)));
    a[half] = static_cast<T>(__fadd_rn(__fmul_rn(second, c), __fmul_rn(first, s)));
  }
}

}  // namespace

cudaError_t rotate_pairs(void* qkv, const float* cos, const float* sin, Element element,
                         std::int64_t rows, int heads, int half, cudaStream_t stream) {
  const int64_t pairs = rows * 2 * heads * half;
  if (pairs == 0) return cudaSuccess;
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    rotate<T><<<grid_for(pairs), block_threads, 0, stream>>>(static_cast<T*>(qkv), cos, sin, pairs,
                                                             heads, half);
  });
  return cudaGetLastError();
}

}  // namespace vtower::kernels
