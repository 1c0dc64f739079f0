#include "tower/staged_inputs.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"

namespace vtower {
namespace {

constexpr std::int64_t alignment = 256;
constexpr std::uint8_t poison_byte = 0xA5;

template <typename Element>
std::int64_t bytes_of(std::int64_t count) {
  return count * static_cast<std::int64_t>(sizeof(Element));
}

}  // namespace

StagedInputs::Section StagedInputs::reserve(std::int64_t bytes) {
  const Section section{size_, bytes};
  size_ += (bytes + alignment - 1) / alignment * alignment;
  return section;
}

template <typename Element>
at::Tensor StagedInputs::view(Section section, std::vector<std::int64_t> shape) const {
  return device_.narrow(0, section.offset, section.bytes)
      .view(c10::CppTypeToScalarType<Element>::value)
      .view(shape);
}

template <typename Element>
void StagedInputs::put(Section section, const std::vector<Element>& values) {
  assert(bytes_of<Element>(static_cast<std::int64_t>(values.size())) == section.bytes);
  std::memcpy(host_.mutable_data_ptr<std::uint8_t>() + section.offset, values.data(),
              static_cast<std::size_t>(section.bytes));
}

StagedInputs::StagedInputs(const VisionConfig& config, const PlanCapacity& capacity,
                           std::int64_t longest_frame, const Placement& placement)
    : capacity_(capacity), row_width_(config.layout.row_width()), layout_(config.layout) {
  const std::int64_t rows = capacity.rows;
  const std::int64_t tokens = rows / (layout_.merge_size * layout_.merge_size);
  const bool windowed = config.family == Family::qwen2_5_vl;
  const bool positioned = config.family == Family::qwen3_vl;
  // Pixels come last: a fill copies as many rows as it has.
  frames_ = reserve(bytes_of<std::int32_t>(capacity.frame_sequences + 1));
  windows_ = reserve(windowed ? bytes_of<std::int32_t>(capacity.window_sequences + 1) : 0);
  order_ = reserve(windowed ? bytes_of<std::int64_t>(tokens) : 0);
  inverse_ = reserve(windowed ? bytes_of<std::int64_t>(tokens) : 0);
  positions_ = reserve(bytes_of<std::int32_t>(2 * rows));
  taps_ = reserve(positioned ? bytes_of<std::int32_t>(4 * rows) : 0);
  weights_ = reserve(positioned ? bytes_of<float>(4 * rows) : 0);
  raw_ = reserve(rows * row_width_);

  const auto options = at::TensorOptions().dtype(at::kByte);
  device_ = at::zeros({size_}, options.device(placement.device));
  host_ = placement.device.is_cpu() ? device_ : at::empty({size_}, options.pinned_memory(true));
  pixels_ = device_.narrow(0, raw_.offset, raw_.bytes).view({rows, row_width_});

  tensors_.rows = rows;
  tensors_.frames.cu_seqlens = view<std::int32_t>(frames_, {capacity.frame_sequences + 1});
  tensors_.frames.longest = longest_frame;
  tensors_.rope_positions = view<std::int32_t>(positions_, {rows, 2});
  if (windowed) {
    const std::int64_t side = config.window_tokens() * layout_.merge_size;
    tensors_.windows.cu_seqlens = view<std::int32_t>(windows_, {capacity.window_sequences + 1});
    tensors_.windows.longest = side * side;
    tensors_.window_order = view<std::int64_t>(order_, {tokens});
    tensors_.window_inverse = view<std::int64_t>(inverse_, {tokens});
  }
  if (positioned) {
    tensors_.position_taps = view<std::int32_t>(taps_, {4, rows});
    tensors_.position_weights = view<float>(weights_, {4, rows});
  }
}

void StagedInputs::fill(const RawPatches& patches, SeqPlan plan) {
  const auto fits = [](const std::vector<std::int32_t>& cu_seqlens, std::int64_t sequences) {
    return static_cast<std::int64_t>(cu_seqlens.size()) == sequences + 1;
  };
  if (plan.rows != capacity_.rows || plan.item_rows != patches.rows() ||
      plan.grids != patches.grids() || patches.layout() != layout_ ||
      !fits(plan.frame_cu_seqlens, capacity_.frame_sequences) ||
      (windows_.bytes > 0 && !fits(plan.window_cu_seqlens, capacity_.window_sequences))) {
    throw Error(ErrorKind::out_of_range, "staged_inputs",
                std::to_string(patches.rows()) + " rows with a plan of " +
                    std::to_string(plan.rows) + " do not fit buffers of " +
                    std::to_string(capacity_.rows));
  }
  if (copied_) copied_->synchronize();  // the copy before must have left the pinned side
  seq_plan_ = std::move(plan);
  put(frames_, seq_plan_.frame_cu_seqlens);
  put(positions_, seq_plan_.rope_positions);
  tensors_.frames.host_cu_seqlens = seq_plan_.frame_cu_seqlens;
  if (windows_.bytes > 0) {
    put(windows_, seq_plan_.window_cu_seqlens);
    put(order_, seq_plan_.window_order);
    put(inverse_, seq_plan_.window_inverse);
    tensors_.windows.host_cu_seqlens = seq_plan_.window_cu_seqlens;
  }
  if (taps_.bytes > 0) {
    put(taps_, seq_plan_.position_taps);
    put(weights_, seq_plan_.position_weights);
  }
  const std::span<const std::uint8_t> bytes = patches.bytes(RawBytesKey{});
  std::memcpy(host_.mutable_data_ptr<std::uint8_t>() + raw_.offset, bytes.data(), bytes.size());
  if (host_.is_same(device_)) return;
  const std::int64_t used = raw_.offset + static_cast<std::int64_t>(bytes.size());
  device_.narrow(0, 0, used).copy_(host_.narrow(0, 0, used), /*non_blocking=*/true);
  const c10::impl::VirtualGuardImpl device(device_.device().type());
  if (!copied_) copied_.emplace(device_.device().type());
  copied_->record(device.getStream(device_.device()));
}

void StagedInputs::poison_pixels() {
  pixels_.fill_(poison_byte);
}

}  // namespace vtower
