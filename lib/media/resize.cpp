#include "media/resize.h"

#include <cassert>
#include <cstring>

#include "media/resize_plan.h"
#include "media/resize_stream.h"

namespace vtower {
namespace {

// The lines of a frame follow each other, so all but the last ones are readable beyond their end.
void put_all(const Frame& frame, ResizeStream& stream) {
  const std::size_t bytes = static_cast<std::size_t>(frame.size.width) * 3;
  ByteBuffer last(bytes + line_slack);
  std::memset(last.data() + bytes, 0, line_slack);
  const std::uint8_t* end = frame.pixels.data() + frame.pixels.size();
  for (std::int64_t y = 0; y < frame.size.height; ++y) {
    const std::uint8_t* line = frame.row(y);
    if (static_cast<std::size_t>(end - line) < bytes + line_slack) {
      std::memcpy(last.data(), line, bytes);
      line = last.data();
    }
    stream.put(line);
  }
}

}  // namespace

struct Resizer::Plan : ResizePlan {
  using ResizePlan::ResizePlan;
};

Resizer::Resizer(ImageSize source, ImageSize target, Resample kernel, ResizeBackend backend)
    : plan_(std::make_unique<const Plan>(source, target, kernel, backend)) {}
Resizer::~Resizer() = default;
Resizer::Resizer(Resizer&&) noexcept = default;

Frame Resizer::resize(const Frame& frame) const {
  assert(frame.size == plan_->source);
  Frame resized(plan_->target);
  const std::size_t bytes = static_cast<std::size_t>(resized.size.width) * 3;
  ResizeStream stream(*plan_, 1, [&](std::int64_t y, const std::uint8_t* rgb, std::int64_t) {
    std::memcpy(resized.row(y), rgb, bytes);
  });
  put_all(frame, stream);
  return resized;
}

void Resizer::resize_into(const Frame& frame, PatchScatter& scatter, std::int64_t k) const {
  assert(frame.size == plan_->source);
  const auto put = [&](std::int64_t y, const std::uint8_t* rgb, std::int64_t line_stride) {
    scatter.put_band(k, y, rgb, line_stride);
  };
  ResizeStream stream(*plan_, scatter.band_lines(), put);
  put_all(frame, stream);
}

}  // namespace vtower
