// The frames of a clip, counted from a full scan of its packets: what is shown, in which order, at
// what time, and where decoding can start.
//
// Counts follow torchcodec 0.11 (packets that an edit list hides do not count), which is also what
// vLLM's loader arrives at for OpenCV; frames that a codec never shows (hidden VP8/VP9 frames,
// empty packets) are left out, too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/video_container.h"

namespace vtower {

struct PacketInfo {
  std::int64_t pts = AV_NOPTS_VALUE;  // in the stream's time base
  std::int64_t dts = AV_NOPTS_VALUE;
  bool shown = false;    // yields a frame
  bool damaged = false;  // the container itself knows that it is
};

struct FrameIndex {
  std::vector<PacketInfo> packets;    // in decoding order
  std::vector<std::size_t> restarts;  // those packets where decoding may start
  std::vector<std::size_t> frames;    // frames[i]: the packet of the i-th frame shown
  // Each frame is known by its own timestamp. Otherwise (AVI, repeated timestamps) only decoding
  // from the start and counting tells which frame is which.
  bool by_timestamp = false;
  std::vector<double> seconds;    // presentation time of each frame, from the first frame
  double start_seconds = 0.0;     // of the first frame, in the container's time
  double duration_seconds = 0.0;  // from the first frame's start to the last one's end

  [[nodiscard]] std::int64_t frame_count() const noexcept {
    return static_cast<std::int64_t>(frames.size());
  }
  // frames / duration; empty where the timestamps do not give a duration.
  [[nodiscard]] std::optional<double> mean_rate() const;
  // Some gap between frames is longer than another by a quarter and by 2 ms.
  [[nodiscard]] bool variable_rate() const;
  // The last packet at or before `packet` where decoding may start so that this packet's frame is
  // the one that decoding from the first packet gives.
  [[nodiscard]] std::size_t restart_for(std::size_t packet) const;
  // The frame with this timestamp; by_timestamp only.
  [[nodiscard]] std::optional<std::int64_t> frame_at(std::int64_t pts) const;
};

inline constexpr std::size_t max_packets = 4'000'000;  // 37 hours of 30 frames a second

// Reads `container` to its end. Throws Error: truncated, unreadable (no frame at all), too_large
// (more than max_packets packets).
FrameIndex scan_frames(VideoContainer& container);

}  // namespace vtower
