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

ByteBuffer line_buffer(std::int64_t width) {
  return ByteBuffer(line_bytes(width) + line_slack);
}

}  // namespace

ResizeStream::ResizeStream(const ResizePlan& plan, LineReceiver receiver)
    : plan_(plan), receiver_(std::move(receiver)), finished_(line_buffer(plan.target.width)) {
  if (plan.kernel == Resample::nearest || plan.vertical.identity()) return;
  const std::int64_t kept_width =
      plan.order == PassOrder::width_first ? plan.target.width : plan.source.width;
  const auto& counts = plan.vertical.count;
  const auto most = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  kept_stride_ = line_bytes(kept_width) + line_slack;
  kept_ = ByteBuffer(kept_stride_ * most);
  combined_ = line_buffer(kept_width);
  taps_.resize(most);
}

std::uint8_t* ResizeStream::kept_line(std::int64_t y) noexcept {
  return kept_.data() + static_cast<std::size_t>(y) % taps_.size() * kept_stride_;
}

void ResizeStream::put(const std::uint8_t* rgb) {
  assert(next_source_ < plan_.source.height);
  if (plan_.kernel == Resample::nearest) {
    put_nearest(rgb);
  } else if (!plan_.vertical.identity()) {
    put_kept(rgb);
  } else if (!plan_.horizontal.identity()) {
    resize_line(rgb, plan_.horizontal, plan_.level, finished_.data());
    receiver_(next_target_++, finished_.data());
  } else {
    receiver_(next_target_++, rgb);
  }
  ++next_source_;
}

void ResizeStream::put_kept(const std::uint8_t* rgb) {
  const bool resize_before = plan_.order == PassOrder::width_first && !plan_.horizontal.identity();
  const bool resize_after = plan_.order == PassOrder::height_first && !plan_.horizontal.identity();
  const AxisWeights& vertical = plan_.vertical;
  if (resize_before) {
    resize_line(rgb, plan_.horizontal, plan_.level, kept_line(next_source_));
  } else {
    std::memcpy(kept_line(next_source_), rgb, line_bytes(plan_.source.width));
  }
  while (next_target_ < plan_.target.height) {
    const auto i = static_cast<std::size_t>(next_target_);
    const std::int64_t first = vertical.first[i];
    const auto count = static_cast<std::size_t>(vertical.count[i]);
    if (first + vertical.count[i] > next_source_ + 1) break;
    for (std::size_t j = 0; j < count; ++j) {
      taps_[j] = kept_line(first + static_cast<std::int64_t>(j));
    }
    combine_lines({taps_.data(), count}, vertical, next_target_, kept_stride_ - line_slack,
                  plan_.level, combined_.data());
    if (resize_after) {
      resize_line(combined_.data(), plan_.horizontal, plan_.level, finished_.data());
    }
    receiver_(next_target_++, resize_after ? finished_.data() : combined_.data());
  }
}

void ResizeStream::put_nearest(const std::uint8_t* rgb) {
  bool ready = false;
  while (next_target_ < plan_.target.height &&
         plan_.nearest_y[static_cast<std::size_t>(next_target_)] == next_source_) {
    std::uint8_t* out = finished_.data();
    for (std::size_t x = 0; x < plan_.nearest_x.size() && !ready; ++x) {
      std::memcpy(out + 3 * x, rgb + 3 * std::int64_t{plan_.nearest_x[x]}, 3);
    }
    ready = true;
    receiver_(next_target_++, out);
  }
}

}  // namespace vtower
