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
  if (plan.kernel == Resample::nearest || plan.vertical.identity()) return;
  const std::int64_t kept_width =
      plan.order == PassOrder::width_first ? plan.target.width : plan.source.width;
  const auto& counts = plan.vertical.count;
  const auto most = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  kept_stride_ = line_bytes(kept_width) + line_slack;
  kept_ = ByteBuffer(kept_stride_ * most);
  if (plan.order == PassOrder::height_first) combined_ = ByteBuffer(kept_stride_);
  taps_.resize(most);
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
  } else if (!plan_.vertical.identity()) {
    put_kept(rgb);
  } else if (!plan_.horizontal.identity()) {
    resize_line(rgb, plan_.horizontal, plan_.level, target_line());
    finish_target_line();
  } else {
    std::memcpy(target_line(), rgb, line_bytes(plan_.target.width));
    finish_target_line();
  }
  ++next_source_;
}

void ResizeStream::put_kept(const std::uint8_t* rgb) {
  const bool resizes = !plan_.horizontal.identity();
  const bool width_first = plan_.order == PassOrder::width_first;
  if (resizes && width_first) {
    resize_line(rgb, plan_.horizontal, plan_.level, kept_line(next_source_));
  } else {
    std::memcpy(kept_line(next_source_), rgb, line_bytes(plan_.source.width));
  }
  while (next_target_ < plan_.target.height) {
    const auto i = static_cast<std::size_t>(next_target_);
    if (plan_.vertical.first[i] + plan_.vertical.count[i] > next_source_ + 1) break;
    if (resizes && !width_first) {
      combine(next_target_, combined_.data());
      resize_line(combined_.data(), plan_.horizontal, plan_.level, target_line());
    } else {
      combine(next_target_, target_line());
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
