// A resize fed line by line, so that no whole picture has to exist at either size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/byte_buffer.h"
#include "media/resize_plan.h"

namespace vtower {

// Receives line y of the target; the bytes are valid during the call.
using LineReceiver = std::function<void(std::int64_t y, const std::uint8_t* rgb)>;

// Takes the lines of one picture of plan.source from the top, hands on those of plan.target from
// the top as soon as they can be known. Not thread-safe; the plan must outlive it.
class ResizeStream {
 public:
  ResizeStream(const ResizePlan& plan, LineReceiver receiver);

  // The next source line: plan.source.width RGB pixels and line_slack readable bytes behind them.
  void put(const std::uint8_t* rgb);

 private:
  void put_nearest(const std::uint8_t* rgb);
  void put_kept(const std::uint8_t* rgb);
  [[nodiscard]] std::uint8_t* kept_line(std::int64_t y) noexcept;

  const ResizePlan& plan_;
  LineReceiver receiver_;
  std::int64_t next_source_ = 0;
  std::int64_t next_target_ = 0;
  std::size_t kept_stride_ = 0;
  ByteBuffer kept_;      // the last lines before the vertical pass, in a ring
  ByteBuffer combined_;  // one line after it
  ByteBuffer finished_;  // one line of the target
  std::vector<const std::uint8_t*> taps_;
};

}  // namespace vtower
