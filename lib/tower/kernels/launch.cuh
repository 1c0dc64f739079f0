// What the launches share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "tower/kernels/element.h"

namespace vtower::kernels {

constexpr int block_threads = 256;

// Blocks for a grid-stride loop over `work`: a few waves of the whole device.
inline int grid_for(int64_t work) {
  int device = 0;
  int processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int64_t blocks = (work + block_threads - 1) / block_threads;
  const int64_t most = int64_t{processors} * 16;
  return static_cast<int>(blocks < most ? blocks : most);
}

template <typename Call>
void with_element(Element element, Call call) {
  switch (element) {
    case Element::bf16: return call(__nv_bfloat16{});
    case Element::f16: return call(__half{});
    case Element::f32: return call(float{});
  }
}

}  // namespace vtower::kernels
