#include "media/video_restart.h"

#include <algorithm>
#include <functional>

namespace vtower {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Calls visit(unit) for each NAL unit until it returns true; whether it did.
bool any_nal_unit(Bytes data, std::size_t length_bytes, const std::function<bool(Bytes)>& visit) {
  std::size_t at = 0;
  if (length_bytes > 0) {
    while (at + length_bytes < data.size()) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < length_bytes; ++i) length = length << 8 | data[at + i];
      at += length_bytes;
      const std::size_t held = std::min(length, data.size() - at);
      if (held > 0 && visit(data.subspan(at, held))) return true;
      at += held;
    }
    return false;
  }
  const auto next_start = [&](std::size_t from) {
    while (from + 3 <= data.size() &&
           !(data[from] == 0 && data[from + 1] == 0 && data[from + 2] == 1)) {
      ++from;
    }
    return from + 3 <= data.size() ? from : data.size();
  };
  for (at = next_start(0); at < data.size();) {
    const std::size_t end = next_start(at + 3);
    if (at + 3 < end && visit(data.subspan(at + 3, end - at - 3))) return true;
    at = end;
  }
  return false;
}

// An SEI unit with a recovery point of zero frames and exact match: the two leading bits "11".
bool is_exact_recovery_point(Bytes unit) {
  constexpr std::size_t recovery_point = 6;
  std::size_t at = 1;
  const auto extended = [&] {
    std::size_t value = 0;
    while (at < unit.size() && unit[at] == 0xff) value += unit[at++];
    return at < unit.size() ? value + unit[at++] : value;
  };
  while (at + 2 < unit.size()) {
    const std::size_t type = extended();
    const std::size_t size = extended();
    if (at >= unit.size()) return false;
    if (type == recovery_point) return size > 0 && (unit[at] & 0xc0) == 0xc0;
    at += std::min(size, unit.size() - at);
  }
  return false;
}

bool h264_restart(Bytes unit) {
  constexpr int idr_slice = 5;
  constexpr int sei = 6;
  const int type = unit[0] & 31;
  return type == idr_slice || (type == sei && is_exact_recovery_point(unit));
}

bool hevc_restart(Bytes unit) {
  const int type = unit[0] >> 1 & 63;
  return type >= 16 && type <= 21;  // BLA, IDR, CRA
}

}  // namespace

RestartFinder::RestartFinder(const AVCodecParameters& codec) : codec_(codec.codec_id) {
  const Bytes extra(codec.extradata, static_cast<std::size_t>(std::max(codec.extradata_size, 0)));
  const bool packaged = !extra.empty() && extra[0] == 1;  // avcC and hvcC; else start codes
  if (packaged && codec_ == AV_CODEC_ID_H264 && extra.size() > 4)
    length_bytes_ = (extra[4] & 3) + 1;
  if (packaged && codec_ == AV_CODEC_ID_HEVC && extra.size() > 21) {
    length_bytes_ = (extra[21] & 3) + 1;
  }
}

bool RestartFinder::can_restart_at(const AVPacket& packet) const {
  if ((packet.flags & AV_PKT_FLAG_KEY) == 0 || packet.size <= 0) return false;
  const Bytes data(packet.data, static_cast<std::size_t>(packet.size));
  switch (codec_) {
    case AV_CODEC_ID_H264: return any_nal_unit(data, length_bytes_, h264_restart);
    case AV_CODEC_ID_HEVC: return any_nal_unit(data, length_bytes_, hevc_restart);
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_MJPEG:
    case AV_CODEC_ID_RAWVIDEO: return true;
    default: return false;
  }
}

bool is_hidden_frame(AVCodecID codec, const AVPacket& packet) {
  if (packet.size < 1) return false;
  const std::uint8_t first = packet.data[0];
  if (codec == AV_CODEC_ID_VP8) return (first & 0x10) == 0;
  if (codec != AV_CODEC_ID_VP9 || first >> 6 != 2) return false;
  // A superframe ends with its index and always shows one frame.
  if ((packet.data[packet.size - 1] & 0xe0) == 0xc0) return false;
  const bool profile_3 = (first & 0x30) == 0x30;
  const int shift = profile_3 ? 1 : 0;
  const bool shows_existing = (first >> (3 - shift) & 1) != 0;
  const bool show_frame = (first >> (1 - shift) & 1) != 0;
  return !shows_existing && !show_frame;
}

}  // namespace vtower
