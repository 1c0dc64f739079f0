#include "media/video_walk.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/error.h"

namespace vtower {
namespace {

// Fewer packets than this are cheaper to decode than to seek over.
constexpr std::size_t worthwhile_skip = 4;

[[noreturn]] void fail(ErrorKind kind, const std::string& message) {
  throw Error(kind, "video_decoder", message);
}

std::string codec_name(const VideoContainer& container) {
  return avcodec_get_name(container.codec().codec_id);
}

// VP8 and VP9 keep alpha in a side stream that only libvpx reads. libav's own AV1 decoder works on
// some graphics hardware alone.
const AVCodec* choose_decoder(const VideoContainer& container) {
  const bool has_alpha = container.has_alpha_stream();
  switch (container.codec().codec_id) {
    case AV_CODEC_ID_AV1: {
      const AVCodec* dav1d = avcodec_find_decoder_by_name("libdav1d");
      return dav1d != nullptr ? dav1d : avcodec_find_decoder_by_name("libaom-av1");
    }
    case AV_CODEC_ID_VP8:
      return has_alpha ? avcodec_find_decoder_by_name("libvpx")
                       : avcodec_find_decoder(AV_CODEC_ID_VP8);
    case AV_CODEC_ID_VP9:
      return has_alpha ? avcodec_find_decoder_by_name("libvpx-vp9")
                       : avcodec_find_decoder(AV_CODEC_ID_VP9);
    default: return avcodec_find_decoder(container.codec().codec_id);
  }
}

bool is_allowed(const AVCodec& codec) {
  return ("," + allowed_decoders() + ",").find("," + std::string(codec.name) + ",") !=
         std::string::npos;
}

std::string size_text(int width, int height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace

std::vector<Stretch> plan_stretches(const FrameIndex& index, std::span<const std::int64_t> wanted,
                                    Walk walk) {
  std::vector<Stretch> stretches;
  for (const std::int64_t frame : wanted) {
    const std::size_t packet = index.frames[static_cast<std::size_t>(frame)];
    const std::size_t restart = walk == Walk::seeking ? index.restart_for(packet) : 0;
    const bool joins = !stretches.empty() && restart >= stretches.back().start &&
                       restart <= stretches.back().last + worthwhile_skip;
    if (!joins) stretches.push_back({restart, restart, {}});
    stretches.back().frames.push_back(frame);
    stretches.back().last = std::max(stretches.back().last, packet);
  }
  return stretches;
}

// What is known of a stretch while it is decoded.
struct FrameWalker::Progress {
  const Stretch& stretch;
  const FrameSink& sink;
  std::vector<bool> delivered;
  std::vector<std::size_t> errors;  // packets whose decoding failed or was concealed
  std::int64_t outputs = 0;         // frames that came out
  std::int64_t lost_from = std::numeric_limits<std::int64_t>::max();
  std::size_t sent = 0;  // the packet sent last
};

FrameWalker::FrameWalker(std::span<const std::uint8_t> bytes, const FrameIndex& index,
                         const DecodeOptions& options)
    : bytes_(bytes),
      index_(index),
      options_(options),
      packet_(make_packet()),
      frame_(make_frame()) {
  restart_container();
  open_decoder();
}

void FrameWalker::restart_container() {
  container_ = std::make_unique<VideoContainer>(bytes_, options_.max_pixels);
  loaded_ = false;
  next_packet_ = 0;
}

void FrameWalker::open_decoder() {
  const AVCodec* codec = choose_decoder(*container_);
  if (codec == nullptr || !is_allowed(*codec)) {
    fail(ErrorKind::unsupported, "no decoder for " + codec_name(*container_) +
                                     " is used here, or the installed libavcodec lacks it");
  }
  decoder_.reset(checked_alloc(avcodec_alloc_context3(codec)));
  if (avcodec_parameters_to_context(decoder_.get(), &container_->codec()) < 0) {
    fail(ErrorKind::unreadable, codec_name(*container_) + ": bad stream parameters");
  }
  decoder_->pkt_timebase = container_->stream().time_base;
  decoder_->thread_count = 1;  // errors belong to packets, and every run has the same bits
  // Frames without their references come out flagged: dropped ones would end the draining early.
  decoder_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  decoder_->max_pixels = options_.max_pixels;
  // H.264 marks concealed frames; the other decoders only report damage when told to stop at it.
  if (codec->id != AV_CODEC_ID_H264) decoder_->err_recognition |= AV_EF_EXPLODE;
  const int code = avcodec_open2(decoder_.get(), codec, nullptr);
  if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (code < 0) {
    fail(ErrorKind::unsupported,
         std::string(codec->name) + " does not take this stream: " + av_error_text(code));
  }
}

// Makes packet_ the packet that comes next; false at the end.
bool FrameWalker::load() {
  if (!loaded_) loaded_ = next_packet_ < index_.packets.size() && container_->read(*packet_);
  return loaded_;
}

bool FrameWalker::is_at(std::size_t packet) const {
  return packet_->pts == index_.packets[packet].pts && packet_->dts == index_.packets[packet].dts;
}

// Seeks to a time near `packet` and reads on to it. Where libav landed is found out from the
// index, never assumed.
bool FrameWalker::land_at(std::size_t packet, std::int64_t timestamp) {
  if (timestamp == AV_NOPTS_VALUE || !container_->seek(timestamp)) return false;
  if (!container_->read(*packet_)) return false;
  std::size_t landed = packet;
  while (!is_at(landed)) {
    if (landed == 0) return false;
    --landed;
  }
  for (; landed < packet; ++landed) {
    if (!container_->read(*packet_) || !is_at(landed + 1)) return false;
  }
  next_packet_ = packet;
  loaded_ = true;
  return true;
}

void FrameWalker::go_to(std::size_t packet) {
  const bool ahead = packet >= next_packet_;
  if (ahead && packet - next_packet_ < worthwhile_skip) return skip_to(packet);
  if (can_seek_ && container_->can_seek()) {
    const PacketInfo& target = index_.packets[packet];
    if (land_at(packet, target.pts) || land_at(packet, target.dts)) return;
    can_seek_ = false;
    restart_container();
  } else if (!ahead) {
    restart_container();
  }
  skip_to(packet);
}

void FrameWalker::skip_to(std::size_t packet) {
  while (next_packet_ < packet && load()) {
    loaded_ = false;
    ++next_packet_;
  }
}

std::vector<std::int64_t> FrameWalker::decode(const Stretch& stretch, const FrameSink& sink) {
  go_to(stretch.start);
  Progress progress{stretch, sink, std::vector<bool>(stretch.frames.size()), {}};
  // One packet more than needed: the second field of a picture may come by itself.
  while (next_packet_ <= stretch.last + 1 && load()) {
    progress.sent = next_packet_;
    if (index_.packets[next_packet_].damaged) progress.errors.push_back(next_packet_);
    send(packet_.get(), progress);
    loaded_ = false;
    ++next_packet_;
  }
  send(nullptr, progress);
  avcodec_flush_buffers(decoder_.get());
  return damaged_frames(progress);
}

void FrameWalker::send(const AVPacket* packet, Progress& progress) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int code = avcodec_send_packet(decoder_.get(), packet);
    if (code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF) note_error(code, progress);
    receive(progress);
    if (code != AVERROR(EAGAIN)) return;  // the decoder was full and has been emptied: once more
  }
  note_error(AVERROR_BUG, progress);
}

void FrameWalker::receive(Progress& progress) {
  constexpr int most_errors = 64;
  for (int errors = 0; errors < most_errors;) {
    const int code = avcodec_receive_frame(decoder_.get(), frame_.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    if (code < 0) {
      note_error(code, progress);
      ++errors;
      continue;
    }
    deliver(progress);
    av_frame_unref(frame_.get());
  }
}

void FrameWalker::note_error(int code, Progress& progress) {
  if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (code == AVERROR(ENOSYS) || code == AVERROR_PATCHWELCOME) {
    fail(ErrorKind::unsupported,
         codec_name(*container_) +
             ": the installed libavcodec cannot decode this stream: " + av_error_text(code));
  }
  // Pictures that lead a random access picture lack their references after a seek, by design.
  const PacketInfo& start = index_.packets[progress.stretch.start];
  if (progress.stretch.start > 0 && index_.packets[progress.sent].pts < start.pts) return;
  progress.errors.push_back(progress.sent);
  progress.lost_from = std::min(progress.lost_from, progress.outputs);
}

void FrameWalker::deliver(Progress& progress) {
  const bool flagged =
      (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0;
  std::int64_t number = progress.outputs++;
  if (index_.by_timestamp) {
    const std::int64_t pts =
        frame_->pts != AV_NOPTS_VALUE ? frame_->pts : frame_->best_effort_timestamp;
    const auto found = index_.frame_at(pts);
    if (!found) return;
    const std::size_t packet = index_.frames[static_cast<std::size_t>(*found)];
    // A picture that leads a random access picture: its references lie before the start.
    const PacketInfo& start = index_.packets[progress.stretch.start];
    if (packet < progress.stretch.start || (progress.stretch.start > 0 && pts < start.pts)) return;
    number = *found;
    if (flagged) progress.errors.push_back(packet);
  } else if (flagged) {
    progress.lost_from = std::min(progress.lost_from, number);
  }
  check_size(number);
  const std::vector<std::int64_t>& frames = progress.stretch.frames;
  const auto at = std::lower_bound(frames.begin(), frames.end(), number);
  if (at == frames.end() || *at != number) return;
  const auto slot = static_cast<std::size_t>(at - frames.begin());
  if (progress.delivered[slot]) return;
  progress.delivered[slot] = true;
  if (!flagged) progress.sink(number, *frame_);
}

void FrameWalker::check_size(std::int64_t frame) const {
  const AVCodecParameters& header = container_->codec();
  if (frame_->width == header.width && frame_->height == header.height) return;
  fail(ErrorKind::unsupported, "expected frames of " + size_text(header.width, header.height) +
                                   ", frame " + std::to_string(frame) + " has " +
                                   size_text(frame_->width, frame_->height) +
                                   "; a clip whose frame size changes is not read");
}

// A frame is clean when it came out, and no packet failed between the last restart point that it
// depends on and its own packet.
std::vector<std::int64_t> FrameWalker::damaged_frames(const Progress& progress) const {
  std::vector<std::int64_t> damaged;
  for (std::size_t i = 0; i < progress.delivered.size(); ++i) {
    const std::int64_t frame = progress.stretch.frames[i];
    const std::size_t packet = index_.frames[static_cast<std::size_t>(frame)];
    const std::size_t from = index_.restart_for(packet);
    bool clean = progress.delivered[i];
    if (!index_.by_timestamp) clean = clean && frame < progress.lost_from;
    for (const std::size_t error : progress.errors) {
      if (index_.by_timestamp && error >= from && error <= packet) clean = false;
    }
    if (!clean) damaged.push_back(frame);
  }
  return damaged;
}

}  // namespace vtower
