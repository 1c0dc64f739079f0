#include "tower/input_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cassert>
#include <cstring>

#include "tower/device_ops.h"

namespace vtower {
namespace {

// Every value comes out of the table, so whatever backend fills rows this way agrees with the
// definition bit for bit.
template <typename Element>
void fill_rows(std::span<const std::uint8_t> bytes, const PatchLayout& layout,
               const NormTable& table, Element* out) {
  std::array<std::array<Element, 256>, 3> cast{};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t u = 0; u < 256; ++u) cast[c][u] = static_cast<Element>(table[c][u]);
  }
  const std::int64_t width = layout.row_width();
  const std::int64_t plane = width / PatchLayout::channels;
  const auto rows = static_cast<std::int64_t>(bytes.size()) / width;
  at::parallel_for(0, rows, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < PatchLayout::channels; ++c) {
        const std::int64_t start = r * width + c * plane;
        const std::array<Element, 256>& values = cast[static_cast<std::size_t>(c)];
        for (std::int64_t i = start; i < start + plane; ++i) {
          out[i] = values[bytes[static_cast<std::size_t>(i)]];
        }
      }
    }
  });
}

NormTable table_of(const NormConstants& constants) {
  NormTable table{};
  const auto inverse_rescale = static_cast<float>(1.0 / constants.rescale_factor());
  for (std::size_t c = 0; c < 3; ++c) {
    const float mean = static_cast<float>(constants.mean()[c]) * inverse_rescale;
    const float std = static_cast<float>(constants.std()[c]) * inverse_rescale;
    for (std::size_t u = 0; u < 256; ++u) table[c][u] = (static_cast<float>(u) - mean) / std;
  }
  return table;
}

}  // namespace

InputNorm::InputNorm(const NormConstants& constants, const Placement& placement)
    : InputNorm(table_of(constants), placement) {}

InputNorm::InputNorm(PlantingKey, const NormTable& table, const Placement& placement)
    : InputNorm(table, placement) {}

InputNorm::InputNorm(const NormTable& table, const Placement& placement)
    : placement_(placement), table_(table) {
  if (!placement.device.is_cpu()) {
    device_table_ = at::empty({3, 256}, at::TensorOptions().dtype(at::kFloat));
    std::memcpy(device_table_.mutable_data_ptr<float>(), table_.data(), sizeof(table_));
    device_table_ = device_table_.to(placement.device);
  }
}

NormalizedPatches InputNorm::on_cpu(std::span<const std::uint8_t> bytes, const PatchLayout& layout,
                                    const StageTrace& trace) const {
  const std::int64_t width = layout.row_width();
  at::Tensor values = at::empty({static_cast<std::int64_t>(bytes.size()) / width, width},
                                at::TensorOptions().dtype(placement_.scalar_type()));
  switch (placement_.dtype) {
    case DType::bf16: fill_rows(bytes, layout, table_, values.data_ptr<c10::BFloat16>()); break;
    case DType::f16: fill_rows(bytes, layout, table_, values.data_ptr<c10::Half>()); break;
    case DType::f64: fill_rows(bytes, layout, table_, values.data_ptr<double>()); break;
    default: fill_rows(bytes, layout, table_, values.data_ptr<float>()); break;
  }
  trace("normalized", values);
  return NormalizedPatches(std::move(values));
}

NormalizedPatches InputNorm::operator()(const RawPatches& patches, const StageTrace& trace) const {
  assert(placement_.device.is_cpu());
  return on_cpu(patches.bytes(RawBytesKey{}), patches.layout(), trace);
}

NormalizedPatches InputNorm::operator()(const StagedInputs& inputs, const StageTrace& trace) const {
  const at::Tensor& pixels = inputs.pixels_;
  if (placement_.device.is_cpu()) {
    return on_cpu({pixels.const_data_ptr<std::uint8_t>(), pixels.nbytes()}, inputs.layout_, trace);
  }
  at::Tensor values = device::normalize(pixels, device_table_, placement_.scalar_type());
  trace("normalized", values);
  return NormalizedPatches(std::move(values));
}

}  // namespace vtower
