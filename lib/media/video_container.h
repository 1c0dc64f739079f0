// A container read from memory: its video stream, packet by packet, in decoding order.
//
// Only these demuxers are used: mov/mp4, matroska/webm, avi, mpegts, mpeg (program stream), gif,
// apng, yuv4mpegpipe. The bytes are all that is read: no protocol, no name and no reference to
// another file is followed. Only the decoders of video_decoder.h are ever opened, here too.
//
// Bounds: 64 streams, libav's default probe (5 MB of packets), and a budget of bytes that one
// container may read (16 times its size + 256 MiB), so that a crafted index cannot make it read
// for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/frame.h"
#include "media/av_ptr.h"

namespace vtower {

class VideoContainer {
 public:
  // `bytes` must outlive the container. Cover art is no video stream. Throws Error: unreadable (no
  // container of the list, or no video stream in it), truncated (the file ends before the
  // container does), unsupported (a codec that is not decoded here).
  // Frames above `max_pixels` are not decoded when libav probes a stream.
  VideoContainer(std::span<const std::uint8_t> bytes, std::int64_t max_pixels);
  ~VideoContainer();
  VideoContainer(const VideoContainer&) = delete;
  VideoContainer& operator=(const VideoContainer&) = delete;

  [[nodiscard]] const AVStream& stream() const noexcept { return *stream_; }
  [[nodiscard]] const AVCodecParameters& codec() const noexcept { return *stream_->codecpar; }
  [[nodiscard]] std::string format_name() const { return format_->iformat->name; }
  [[nodiscard]] ImageSize stored_size() const noexcept;
  // Clockwise turn that a viewer applies: 0, 90, 180 or 270.
  [[nodiscard]] std::int64_t rotation_degrees() const;
  [[nodiscard]] std::optional<double> average_rate() const;
  [[nodiscard]] std::optional<std::int64_t> header_frame_count() const;
  // VP8 and VP9 carry transparency beside their pictures.
  [[nodiscard]] bool has_alpha_stream() const;
  // The container keeps an index by which a packet can be found again.
  [[nodiscard]] bool can_seek() const;

  // The next packet of the video stream; false at the end. Throws Error{truncated} when the
  // container breaks off.
  bool read(AVPacket& packet);

  // Puts the reader at the last packet that may start decoding at or before `timestamp` (stream
  // time base); false where libav cannot. The caller checks where it landed.
  bool seek(std::int64_t timestamp);

 private:
  struct Source;
  std::unique_ptr<Source> source_;
  IoPtr io_;
  FormatPtr format_;
  AVStream* stream_ = nullptr;
};

}  // namespace vtower
