#include "tower/kernels/input_norm.h"
#include "tower/kernels/launch.cuh"

namespace vtower::kernels {
namespace {

constexpr int bytes_per_thread = 8;

template <typename T>
struct alignas(bytes_per_thread * sizeof(T) < 16 ? bytes_per_thread * sizeof(T) : 16) Eight {
  T value[bytes_per_thread];
};

// Eight bytes in a row belong to one channel, since a plane is a multiple of eight.
template <typename T>
__global__ void look_up(const uint8_t* __restrict__ bytes, const float* __restrict__ table,
                        T* __restrict__ out, int64_t groups, int64_t groups_per_plane) {
  __shared__ float values[3 * 256];
  for (int i = threadIdx.x; i < 3 * 256; i += block_threads) values[i] = table[i];
  __syncthreads();
  const int64_t step = int64_t{gridDim.x} * block_threads;
  for (int64_t group = blockIdx.x * int64_t{block_threads} + threadIdx.x; group < groups;
       group += step) {
    const float* channel = values + 256 * (group / groups_per_plane % 3);
    const uint2 packed = reinterpret_cast<const uint2*>(bytes)[group];
    Eight<T> result;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      result.value[i] = static_cast<T>(channel[packed.x >> (8 * i) & 255]);
      result.value[4 + i] = static_cast<T>(channel[packed.y >> (8 * i) & 255]);
    }
    reinterpret_cast<Eight<T>*>(out)[group] = result;
  }
}

}  // namespace

cudaError_t normalize_rows(const std::uint8_t* bytes, const float* table, void* out,
                           Element element, std::int64_t count, std::int64_t plane,
                           cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  if (plane % bytes_per_thread != 0) return cudaErrorInvalidValue;
  const int64_t groups = count / bytes_per_thread;
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    look_up<T><<<grid_for(groups), block_threads, 0, stream>>>(bytes, table, static_cast<T*>(out),
                                                               groups, plane / bytes_per_thread);
  });
  return cudaGetLastError();
}

}  // namespace vtower::kernels
