// Owning pointers for the structs of FFmpeg's libav.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <cstring>
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

// A tag as the file gives it, or `unspecified` where libav passes on a number that the enum does
// not know (reading such an enum is undefined behaviour).
template <typename Enum>
Enum known_tag(const Enum& tag, Enum end, Enum unspecified) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &tag, sizeof number);
  return number >= 0 && number < static_cast<int>(end) ? static_cast<Enum>(number) : unspecified;
}

inline AVColorSpace matrix_tag(const AVColorSpace& tag) {
  return known_tag(tag, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED);
}
inline AVColorRange range_tag(const AVColorRange& tag) {
  return known_tag(tag, AVCOL_RANGE_NB, AVCOL_RANGE_UNSPECIFIED);
}
inline AVColorTransferCharacteristic transfer_tag(const AVColorTransferCharacteristic& tag) {
  return known_tag(tag, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED);
}
inline AVChromaLocation chroma_tag(const AVChromaLocation& tag) {
  return known_tag(tag, AVCHROMA_LOC_NB, AVCHROMA_LOC_UNSPECIFIED);
}

inline std::string av_error_text(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

}  // namespace vtower
