// Kernels against the plain definitions beside them.
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "support/doctest.h"
#include "support/towers.h"
#include "tower/device_ops.h"
#include "tower/rotary.h"
#include "tower/vision_attention.h"

using namespace vtower;

namespace {

at::Tensor normalised(const VisionTower& tower, const RawPatches& patches) {
  at::Tensor values;
  (void)tower.encode(patches, make_seq_plan(tower.config(), patches.grids()),
                     StageTrace([&](const std::string& stage, const at::Tensor& value) {
                       if (stage == "normalized") values = value.cpu();
                     }));
  return values;
}

}  // namespace

TEST_CASE("gpu: the norm has the bits of the table in every dtype") {
  for (const std::string& family : test::families) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const VisionTower gpu = test::tiny_tower(family, {dtype, c10::kCUDA});
      const VisionTower cpu = test::tiny_tower(family, {dtype, c10::kCPU});
      const RawPatches patches =
          test::noise_patches(gpu.config().layout, {{1, 6, 10}, {2, 4, 4}}, 11);
      CHECK(normalised(gpu, patches).equal(normalised(cpu, patches)));
    }
  }
}

TEST_CASE("gpu: the norm adds no tensor but its output") {
  const std::int64_t rows = 16384;
  const at::Tensor bytes = at::randn({rows, 1176}).mul_(60).clamp_(0, 255).to(at::kByte).cuda();
  const at::Tensor table = at::randn({3, 256}).cuda();
  using namespace c10::cuda::CUDACachingAllocator;
  resetPeakStats(0);
  const auto before = getDeviceStats(0).allocated_bytes[0].current;
  const at::Tensor out = device::normalize(bytes, table, at::kBFloat16);
  const auto peak = getDeviceStats(0).allocated_bytes[0].peak;
  CHECK(peak - before <= static_cast<std::int64_t>(out.nbytes()) + 512);
}

TEST_CASE("gpu: the rotation has the definition's bits") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t head_dim : {16, 64, 72, 80, 128}) {
      at::Tensor cpu = at::randn({37, 3, 4, head_dim}).to(type);
      const at::Tensor angles = at::randn({37, head_dim / 2});
      const Rotation rotation{angles.cos(), angles.sin()};
      at::Tensor gpu = cpu.cuda();
      rotate_queries_and_keys(cpu, rotation);
      rotate_queries_and_keys(gpu, {rotation.cos.cuda(), rotation.sin.cuda()});
      CHECK(gpu.cpu().equal(cpu));
    }
  }
}

TEST_CASE("gpu: attention over offsets is attention within sequences") {
  const std::vector<std::int32_t> cu_seqlens{0, 64, 64, 65, 200, 264, 264};
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t head_dim : {16, 64, 72, 80, 128}) {
      const at::Tensor qkv = at::randn({264, 3, 4, head_dim});
      Sequences sequences{cu_seqlens, {}, 136};
      const at::Tensor exact = attend_within_sequences(qkv.to(at::kDouble), sequences);
      const at::Tensor offsets = at::tensor(cu_seqlens, at::kInt);
      sequences.cu_seqlens = offsets.cuda();
      const at::Tensor gpu = attend_within_sequences(qkv.to(type).cuda(), sequences);
      const double limit = type == at::kFloat ? 2e-6 : type == at::kHalf ? 2e-3 : 1e-2;
      CHECK(test::relative_error(gpu.cpu(), exact) <= limit);
    }
  }
}
