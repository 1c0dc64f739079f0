#include "media/video_container.h"

extern "C" {
#include <libavutil/display.h>
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "media/video_decoder.h"
#include "media/video_extent.h"

namespace vtower {
namespace {

constexpr const char* allowed_demuxers =
    "mov,mp4,matroska,webm,avi,mpegts,mpeg,gif,apng,yuv4mpegpipe";
constexpr int max_streams = 64;
constexpr int io_buffer_size = 64 * 1024;

[[noreturn]] void fail(ErrorKind kind, const std::string& message) {
  throw Error(kind, "video_container", message);
}

void discard_log(void*, int, const char*, va_list) {}

int refuse_other_files(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

void require_whole(std::span<const std::uint8_t> bytes) {
  const auto extent = declared_extent(bytes);
  if (extent && *extent > bytes.size()) {
    fail(ErrorKind::truncated, "the container needs " + std::to_string(*extent) +
                                   " bytes, the file has " + std::to_string(bytes.size()) +
                                   "; was it cut while being copied?");
  }
}

const std::uint8_t* display_matrix(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* data =
      av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX);
  return data != nullptr && data->size >= 9 * sizeof(std::int32_t) ? data->data : nullptr;
#else
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return size >= 9 * sizeof(std::int32_t) ? data : nullptr;
#endif
}

// avformat_find_stream_info with a bound on the frames that it may decode.
int probe_streams(AVFormatContext& format, std::int64_t max_pixels) {
  std::vector<AVDictionary*> options(format.nb_streams, nullptr);
  for (AVDictionary*& option : options) av_dict_set_int(&option, "max_pixels", max_pixels, 0);
  const int code = avformat_find_stream_info(&format, options.empty() ? nullptr : options.data());
  for (AVDictionary*& option : options) av_dict_free(&option);
  return code;
}

}  // namespace

// The file's bytes, handed to libav within a budget.
struct VideoContainer::Source {
  std::span<const std::uint8_t> bytes;
  std::size_t at = 0;
  std::uint64_t budget = 0;

  static int read(void* opaque, std::uint8_t* buffer, int size) {
    auto& source = *static_cast<Source*>(opaque);
    const std::size_t count =
        std::min(source.bytes.size() - source.at, static_cast<std::size_t>(std::max(size, 0)));
    if (count == 0) return AVERROR_EOF;
    if (count > source.budget) return AVERROR_EXIT;
    source.budget -= count;
    std::memcpy(buffer, source.bytes.data() + source.at, count);
    source.at += count;
    return static_cast<int>(count);
  }

  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    auto& source = *static_cast<Source*>(opaque);
    const auto size = static_cast<std::int64_t>(source.bytes.size());
    if (whence == AVSEEK_SIZE) return size;
    if (whence == SEEK_CUR) offset += static_cast<std::int64_t>(source.at);
    if (whence == SEEK_END) offset += size;
    if (offset < 0) return AVERROR(EINVAL);
    source.at = static_cast<std::size_t>(std::min(offset, size));
    return offset;
  }
};

VideoContainer::VideoContainer(std::span<const std::uint8_t> bytes, std::int64_t max_pixels)
    : source_(std::make_unique<Source>()) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { av_log_set_callback(discard_log); });
  if (bytes.empty()) fail(ErrorKind::unreadable, "the file is empty");
  require_whole(bytes);
  source_->bytes = bytes;
  source_->budget = std::uint64_t{16} * bytes.size() + (std::uint64_t{256} << 20);

  auto* buffer = static_cast<unsigned char*>(
      checked_alloc(av_malloc(io_buffer_size + AV_INPUT_BUFFER_PADDING_SIZE)));
  io_.reset(avio_alloc_context(buffer, io_buffer_size, 0, source_.get(), &Source::read, nullptr,
                               &Source::seek));
  if (io_ == nullptr) {
    av_free(buffer);
    throw std::bad_alloc();
  }

  AVFormatContext* format = checked_alloc(avformat_alloc_context());
  format->pb = io_.get();
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  format->io_open = &refuse_other_files;
  format->max_streams = max_streams;
  format->format_whitelist = checked_alloc(av_strdup(allowed_demuxers));
  format->codec_whitelist = checked_alloc(av_strdup(allowed_decoders().c_str()));
  int code = avformat_open_input(&format, nullptr, nullptr, nullptr);  // frees it on failure
  if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (code < 0) {
    fail(ErrorKind::unreadable, "expected a container of the list " +
                                    std::string(allowed_demuxers) + ": " + av_error_text(code));
  }
  format_.reset(format);
  code = probe_streams(*format, max_pixels);
  if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (code < 0) fail(ErrorKind::unreadable, "no stream can be read: " + av_error_text(code));

  for (unsigned i = 0; i < format->nb_streams; ++i) {
    AVStream* stream = format->streams[i];
    const bool cover = (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    const bool video = stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !cover;
    if (video && (stream_ == nullptr || ((stream->disposition & AV_DISPOSITION_DEFAULT) != 0 &&
                                         (stream_->disposition & AV_DISPOSITION_DEFAULT) == 0))) {
      stream_ = stream;
    }
  }
  if (stream_ == nullptr) {
    fail(ErrorKind::unreadable, "no video stream among " + std::to_string(format->nb_streams) +
                                    " in this " + format_name() + " file");
  }
  if (codec().width <= 0 || codec().height <= 0) {
    fail(ErrorKind::unreadable, "no frame size can be found for the video stream");
  }
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (format->streams[i] != stream_) format->streams[i]->discard = AVDISCARD_ALL;
  }
}

VideoContainer::~VideoContainer() = default;

ImageSize VideoContainer::stored_size() const noexcept {
  return {codec().height, codec().width};
}

std::int64_t VideoContainer::rotation_degrees() const {
  double counter_clockwise = 0.0;
  if (const std::uint8_t* data = display_matrix(*stream_)) {
    std::int32_t matrix[9];
    std::memcpy(matrix, data, sizeof matrix);
    counter_clockwise = av_display_rotation_get(matrix);
  } else if (const AVDictionaryEntry* tag = av_dict_get(stream_->metadata, "rotate", nullptr, 0)) {
    counter_clockwise = -std::strtod(tag->value, nullptr);
  }
  if (!std::isfinite(counter_clockwise)) return 0;
  const auto quarters = static_cast<std::int64_t>(std::nearbyint(-counter_clockwise / 90.0)) % 4;
  return (quarters + 4) % 4 * 90;
}

std::optional<double> VideoContainer::average_rate() const {
  const AVRational rate = stream_->avg_frame_rate;
  if (rate.num <= 0 || rate.den <= 0) return std::nullopt;
  return av_q2d(rate);
}

std::optional<std::int64_t> VideoContainer::header_frame_count() const {
  if (stream_->nb_frames <= 0) return std::nullopt;
  return stream_->nb_frames;
}

bool VideoContainer::has_alpha_stream() const {
  const AVDictionaryEntry* mode = av_dict_get(stream_->metadata, "alpha_mode", nullptr, 0);
  return mode != nullptr && std::strcmp(mode->value, "1") == 0;
}

bool VideoContainer::can_seek() const {
  const std::string name = format_name();
  return name.starts_with("mov") || name.starts_with("matroska") || name == "avi";
}

bool VideoContainer::read(AVPacket& packet) {
  constexpr int most_retries = 1000;
  for (int retries = 0;;) {
    av_packet_unref(&packet);
    const int code = av_read_frame(format_.get(), &packet);
    if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (code == AVERROR_EXIT || (format_->pb != nullptr && format_->pb->error == AVERROR_EXIT)) {
      fail(ErrorKind::unreadable, "reading the container does not come to an end");
    }
    if (code == AVERROR(EAGAIN) && ++retries < most_retries) continue;
    if (code == AVERROR_EOF) return false;
    if (code < 0) {
      fail(ErrorKind::truncated, "the container breaks off: " + av_error_text(code));
    }
    if (packet.stream_index == stream_->index) return true;
  }
}

bool VideoContainer::seek(std::int64_t timestamp) {
  return av_seek_frame(format_.get(), stream_->index, timestamp, AVSEEK_FLAG_BACKWARD) >= 0;
}

}  // namespace vtower
