// One decoder walking over a stretch of packets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "media/video_decoder.h"

namespace vtower {

// Frames that are decoded together, from one starting point on.
struct Stretch {
  std::size_t start = 0;             // packet
  std::size_t last = 0;              // the last packet needed
  std::vector<std::int64_t> frames;  // ascending
};

// The stretches in which `wanted` is best reached: a new one where seeking skips packets.
std::vector<Stretch> plan_stretches(const FrameIndex& index, std::span<const std::int64_t> wanted,
                                    Walk walk);

// Not thread-safe; one per thread.
class FrameWalker {
 public:
  FrameWalker(std::span<const std::uint8_t> bytes, const FrameIndex& index,
              const DecodeOptions& options);

  // Decodes a stretch; hands over its frames, returns those that are not clean (some of which
  // may have been handed over before the damage came to light).
  std::vector<std::int64_t> decode(const Stretch& stretch, const FrameSink& sink);

 private:
  struct Progress;
  void open_decoder();
  void go_to(std::size_t packet);
  void skip_to(std::size_t packet);
  bool land_at(std::size_t packet, std::int64_t timestamp);
  [[nodiscard]] bool is_at(std::size_t packet) const;
  bool load();
  void restart_container();
  void send(const AVPacket* packet, Progress& progress);
  void receive(Progress& progress);
  void note_error(int code, Progress& progress);
  void deliver(Progress& progress);
  [[nodiscard]] std::vector<std::int64_t> damaged_frames(const Progress& progress) const;
  void check_size(std::int64_t frame) const;

  std::span<const std::uint8_t> bytes_;
  const FrameIndex& index_;
  DecodeOptions options_;
  std::unique_ptr<VideoContainer> container_;
  CodecPtr decoder_;
  PacketPtr packet_;
  AvFramePtr frame_;
  std::size_t next_packet_ = 0;  // the packet to be decoded next
  bool loaded_ = false;          // packet_ is that packet
  bool can_seek_ = true;         // seeking has not failed yet
};

}  // namespace vtower
