// A resize fed line by line, so that no whole picture has to exist at either size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/byte_buffer.h"
#include "media/resize_plan.h"

namespace vtower {

// Receives the lines of the target from line y on, a band of them, line_stride bytes apart; valid
// during the call.
using BandReceiver =
    std::function<void(std::int64_t y, const std::uint8_t* rgb, std::int64_t line_stride)>;

// Takes the lines of one picture of plan.source from the top (which it works on in pairs), hands on
// those of plan.target from the top, in bands of `band_lines` (which divides the target's height),
// as soon as they can be known. Not thread-safe; the plan must outlive it.
class ResizeStream {
 public:
  ResizeStream(const ResizePlan& plan, std::int64_t band_lines, BandReceiver receiver);

  // The next source line: plan.source.width RGB pixels and line_slack readable bytes behind them.
  void put(const std::uint8_t* rgb);

 private:
  void put_nearest(const std::uint8_t* rgb);
  void keep(const std::uint8_t* first, const std::uint8_t* second);
  void put_combined();
  void combine(std::int64_t y, std::uint8_t* out);
  [[nodiscard]] std::uint8_t* kept_line(std::int64_t y) noexcept;
  [[nodiscard]] std::uint8_t* target_line() noexcept;
  void finish_target_line();

  const ResizePlan& plan_;
  std::int64_t band_lines_;
  BandReceiver receiver_;
  std::int64_t next_source_ = 0;
  std::int64_t next_target_ = 0;
  std::size_t band_stride_ = 0;
  ByteBuffer band_;     // the target's lines that were not handed on yet
  ByteBuffer pending_;  // the first line of a pair
  std::size_t kept_stride_ = 0;
  ByteBuffer kept_;      // the last lines before the vertical pass, in a ring
  ByteBuffer combined_;  // one line after it, where the horizontal pass comes last
  std::vector<const std::uint8_t*> taps_;
};

}  // namespace vtower
