#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "tower/device_ops.h"
#include "tower/kernels/input_norm.h"
#include "tower/kernels/rotary.h"

namespace vtower::device {
namespace {

kernels::Element element_of(at::ScalarType type) {
  if (type == at::kBFloat16) return kernels::Element::bf16;
  return type == at::kHalf ? kernels::Element::f16 : kernels::Element::f32;
}

}  // namespace

at::Tensor normalize(const at::Tensor& bytes, const at::Tensor& table, at::ScalarType type) {
  at::Tensor out = at::empty(bytes.sizes(), bytes.options().dtype(type));
  C10_CUDA_CHECK(kernels::normalize_rows(
      bytes.const_data_ptr<std::uint8_t>(), table.const_data_ptr<float>(), out.mutable_data_ptr(),
      element_of(type), bytes.numel(), bytes.size(1) / PatchLayout::channels,
      c10::cuda::getCurrentCUDAStream()));
  return out;
}

void rotate(at::Tensor& qkv, const Rotation& rotation) {
  C10_CUDA_CHECK(
      kernels::rotate_pairs(qkv.mutable_data_ptr(), rotation.cos.const_data_ptr<float>(),
                            rotation.sin.const_data_ptr<float>(), element_of(qkv.scalar_type()),
                            qkv.size(0), static_cast<int>(qkv.size(2)),
                            static_cast<int>(qkv.size(3) / 2), c10::cuda::getCurrentCUDAStream()));
}

}  // namespace vtower::device
