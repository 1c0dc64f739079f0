// Where a decoder may be started so that what follows equals decoding from the first packet, and
// which packets yield no picture. Read from the first bytes of a packet.
//
// Sources: H.264 7.3.1, 7.4.1.2, D.2.8 (recovery point); H.265 7.4.2.2 (IDR, BLA, CRA); RFC 6386
// 9.1 (VP8); the VP9 bitstream specification 6.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/av_ptr.h"

namespace vtower {

class RestartFinder {
 public:
  explicit RestartFinder(const AVCodecParameters& codec);

  // True when every frame that comes at or after this packet, in decoding and in presentation
  // order, decodes from here on as it does from the start: an IDR picture or an exact recovery
  // point of zero frames (H.264), any random access picture (H.265), a key frame of a codec
  // without references across key frames. False for codecs not known here.
  [[nodiscard]] bool can_restart_at(const AVPacket& packet) const;

 private:
  AVCodecID codec_;
  std::size_t length_bytes_ = 0;  // size of a NAL unit's length field; 0: start codes
};

// A packet that the decoder consumes without showing a frame.
bool is_hidden_frame(AVCodecID codec, const AVPacket& packet);

}  // namespace vtower
