// From the decoder's pixel formats to RGB, with the reference's settings of libswscale.
//
// Source: tests/golden/media/README.md (measured against OpenCV 5.0 and torchcodec 0.11). Equal bit
// for bit with FFmpeg 5.1; BT.2020 PQ in profile vllm is the known exception.
#pragma once

#include <cstdint>

#include "core/frame.h"
#include "media/av_ptr.h"
#include "media/media_options.h"

namespace vtower {

// Not thread-safe; one per thread. Keeps its scaler while size and format stay the same.
class FrameConverter {
 public:
  // Turns frames clockwise by 0, 90, 180 or 270 degrees.
  FrameConverter(Profile profile, std::int64_t rotation_degrees);

  // The frame is valid until the next call. Pixels with alpha come out on white. Throws
  // Error{unsupported} for a pixel format that libswscale does not read.
  const Frame& convert(const AVFrame& source);

 private:
  void prepare(const AVFrame& source);
  void unpack();
  void blend_on_white(const AVFrame& source);

  Profile profile_;
  std::int64_t rotation_degrees_;
  ScalerPtr colour_;
  ScalerPtr alpha_;
  AvFramePtr packed_;        // BGR24 or RGB24, lines padded
  AvFramePtr packed_alpha_;  // RGBA
  Frame upright_{ImageSize{}};
  Frame turned_{ImageSize{}};
  int format_ = -1;
  int matrix_ = -1;
  int range_ = -1;
  int chroma_ = -1;
};

// Whether frames of this format carry transparency.
bool has_alpha(AVPixelFormat format);

// Clockwise by 90, 180 or 270 degrees.
Frame rotated(const Frame& frame, std::int64_t degrees);

}  // namespace vtower
