// Owning pointers for the structs of FFmpeg's libav.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <new>
#include <string>

namespace vtower {

struct AvFree {
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
  void operator()(AVCodecContext* codec) const noexcept { avcodec_free_context(&codec); }
  void operator()(AVFormatContext* format) const noexcept { avformat_close_input(&format); }
  void operator()(SwsContext* scaler) const noexcept { sws_freeContext(scaler); }
  void operator()(AVIOContext* io) const noexcept {
    av_freep(&io->buffer);
    avio_context_free(&io);
  }
};

using PacketPtr = std::unique_ptr<AVPacket, AvFree>;
using AvFramePtr = std::unique_ptr<AVFrame, AvFree>;
using CodecPtr = std::unique_ptr<AVCodecContext, AvFree>;
using FormatPtr = std::unique_ptr<AVFormatContext, AvFree>;
using ScalerPtr = std::unique_ptr<SwsContext, AvFree>;
using IoPtr = std::unique_ptr<AVIOContext, AvFree>;

// Out of memory is std::bad_alloc, as everywhere.
template <typename T>
T* checked_alloc(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

inline PacketPtr make_packet() {
  return PacketPtr(checked_alloc(av_packet_alloc()));
}
inline AvFramePtr make_frame() {
  return AvFramePtr(checked_alloc(av_frame_alloc()));
}

inline std::string av_error_text(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

}  // namespace vtower
