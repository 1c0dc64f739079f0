#include "media/resize_stream.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace vtower {
namespace {

std::size_t line_bytes(std::int64_t width) {
  return static_cast<std::size_t>(width) * 3;
}

}  // namespace

ResizeStream::ResizeStream(const ResizePlan& plan, std::int64_t band_lines, BandReceiver receiver)
    : plan_(plan),
      band_lines_(band_lines),
      receiver_(std::move(receiver)),
      band_stride_(line_bytes(plan.target.width) + line_slack),
      band_(band_stride_ * static_cast<std::size_t>(band_lines)) {
  assert(band_lines > 0 && plan.target.height % band_lines == 0);
  if (plan.kernel == Resample::nearest) return;
  pending_ = ByteBuffer(line_bytes(plan.source.width) + line_slack);
  std::memset(pending_.data(), 0, pending_.size());
  const std::int64_t kept_width =
      plan.order == PassOrder::width_first ? plan.target.width : plan.source.width;
  const auto& counts = plan.vertical.count;
  const std::int32_t most =
      plan.vertical.identity() ? 1 : *std::max_element(counts.begin(), counts.end());
  taps_.resize(static_cast<std::size_t>(most) + 1);  // a pair comes at once
  kept_stride_ = line_bytes(kept_width) + line_slack;
  kept_ = ByteBuffer(kept_stride_ * taps_.size());
  if (plan.order == PassOrder::height_first) {
    combined_ = ByteBuffer(kept_stride_);
    std::memset(combined_.data(), 0, combined_.size());
  }
}

std::uint8_t* ResizeStream::kept_line(std::int64_t y) noexcept {
  return kept_.data() + static_cast<std::size_t>(y) % taps_.size() * kept_stride_;
}

std::uint8_t* ResizeStream::target_line() noexcept {
  return band_.data() + static_cast<std::size_t>(next_target_ % band_lines_) * band_stride_;
}

void ResizeStream::finish_target_line() {
  ++next_target_;
  if (next_target_ % band_lines_ == 0) {
    receiver_(next_target_ - band_lines_, band_.data(), static_cast<std::int64_t>(band_stride_));
  }
}

void ResizeStream::put(const std::uint8_t* rgb) {
  assert(next_source_ < plan_.source.height);
  if (plan_.kernel == Resample::nearest) {
    put_nearest(rgb);
    ++next_source_;
  } else if (plan_.identity()) {
    std::memcpy(target_line(), rgb, line_bytes(plan_.target.width));
    ++next_source_;
    finish_target_line();
  } else if (next_source_ % 2 == 0 && next_source_ + 1 < plan_.source.height) {
    std::memcpy(pending_.data(), rgb, line_bytes(plan_.source.width));
    ++next_source_;
  } else {
    const bool second_of_pair = next_source_ % 2 == 1;
    ++next_source_;
    keep(second_of_pair ? pending_.data() : nullptr, rgb);
    put_combined();
  }
}

// Stores the last line, and the one before it if there is a `first`, in the ring.
void ResizeStream::keep(const std::uint8_t* first, const std::uint8_t* second) {
  std::uint8_t* second_out = kept_line(next_source_ - 1);
  std::uint8_t* first_out = first != nullptr ? kept_line(next_source_ - 2) : second_out;
  if (plan_.order == PassOrder::width_first && !plan_.horizontal.identity()) {
    resize_two_lines(first != nullptr ? first : second, second, plan_.horizontal, plan_.level,
                     first_out, second_out);
    return;
  }
  if (first != nullptr) std::memcpy(first_out, first, line_bytes(plan_.source.width));
  std::memcpy(second_out, second, line_bytes(plan_.source.width));
}

// Hands on every line of the target that the kept lines suffice for.
void ResizeStream::put_combined() {
  const bool width_last = plan_.order == PassOrder::height_first && !plan_.horizontal.identity();
  while (next_target_ < plan_.target.height) {
    if (plan_.vertical.identity()) {
      if (next_target_ == next_source_) break;
      std::memcpy(target_line(), kept_line(next_target_), line_bytes(plan_.target.width));
    } else {
      const auto i = static_cast<std::size_t>(next_target_);
      if (plan_.vertical.first[i] + plan_.vertical.count[i] > next_source_) break;
      combine(next_target_, width_last ? combined_.data() : target_line());
      if (width_last) {
        resize_two_lines(combined_.data(), combined_.data(), plan_.horizontal, plan_.level,
                         target_line(), target_line());
      }
    }
    finish_target_line();
  }
}

// Line y after the vertical pass, from the kept ones.
void ResizeStream::combine(std::int64_t y, std::uint8_t* out) {
  const std::int64_t first = plan_.vertical.first[static_cast<std::size_t>(y)];
  const auto count = static_cast<std::size_t>(plan_.vertical.count[static_cast<std::size_t>(y)]);
  for (std::size_t j = 0; j < count; ++j)
    taps_[j] = kept_line(first + static_cast<std::int64_t>(j));
  combine_lines({taps_.data(), count}, plan_.vertical, y, kept_stride_ - line_slack, plan_.level,
                out);
}

void ResizeStream::put_nearest(const std::uint8_t* rgb) {
  while (next_target_ < plan_.target.height &&
         plan_.nearest_y[static_cast<std::size_t>(next_target_)] == next_source_) {
    std::uint8_t* out = target_line();
    for (std::size_t x = 0; x < plan_.nearest_x.size(); ++x) {
      std::memcpy(out + 3 * x, rgb + 3 * std::int64_t{plan_.nearest_x[x]}, 3);
    }
    finish_target_line();
  }
}

}  // namespace vtower
