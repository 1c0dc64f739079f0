#include "media/jpeg_session.h"

#include <jerror.h>

#include "core/error.h"

namespace vtower {
namespace {

// A picture has a few dozen scans at most; thousands of them in a small file are an attack on time.
constexpr int most_scans = 500;

bool means_damage(int code) {
  switch (code) {
    case JWRN_ADOBE_XFORM:      // unknown colour transform: YCbCr or YCCK is assumed, as in Pillow
    case JWRN_EXTRANEOUS_DATA:  // bytes between segments
    case JWRN_JFIF_MAJOR:       // a newer JFIF version
    case JWRN_NOT_SEQUENTIAL:   // odd scan parameters that a sequential scan does not use
    case JWRN_TOO_MUCH_DATA: return false;
    default: return true;
  }
}

ErrorKind kind_of(int code) {
  switch (code) {
    case JERR_OUT_OF_MEMORY: return ErrorKind::memory;
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF: return ErrorKind::truncated;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED: return ErrorKind::unsupported;
    case JERR_IMAGE_TOO_BIG: return ErrorKind::too_large;
    default: return ErrorKind::unreadable;
  }
}

}  // namespace

JpegSession::ErrorManager& JpegSession::manager_of(j_common_ptr info) {
  return *static_cast<ErrorManager*>(info->err);
}

JpegSession::JpegSession(std::span<const std::uint8_t> bytes) {
  info_.err = jpeg_std_error(&manager_);
  manager_.error_exit = on_error;
  manager_.emit_message = on_message;
  run([](jpeg_decompress_struct& info) { jpeg_create_decompress(&info); });
  source_.next_input_byte = bytes.data();
  source_.bytes_in_buffer = bytes.size();
  source_.init_source = [](j_decompress_ptr) {};
  source_.fill_input_buffer = on_empty_source;
  source_.skip_input_data = on_skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = [](j_decompress_ptr) {};
  info_.src = &source_;
  progress_.progress_monitor = on_progress;
  info_.progress = &progress_;
}

JpegSession::~JpegSession() {
  jpeg_destroy_decompress(&info_);
}

void JpegSession::on_error(j_common_ptr info) {
  std::longjmp(manager_of(info).escape, 1);
}

void JpegSession::on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // traces
  ErrorManager& manager = manager_of(info);
  const bool damage = means_damage(manager.msg_code);
  long& count = damage ? manager.damage : manager.harmless;
  if (count++ == 0) {
    manager.format_message(info, damage ? manager.first_damage : manager.first_harmless);
  }
}

void JpegSession::on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > most_scans) {
    manager_of(info).too_many_scans = true;
    std::longjmp(manager_of(info).escape, 1);
  }
}

boolean JpegSession::on_empty_source(j_decompress_ptr info) {
  ErrorManager& manager = manager_of(reinterpret_cast<j_common_ptr>(info));
  manager.end_of_data = true;
  std::longjmp(manager.escape, 1);
}

void JpegSession::on_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > info->src->bytes_in_buffer) on_empty_source(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

void JpegSession::throw_error() const {
  if (manager_.end_of_data) {
    throw Error(ErrorKind::truncated, "jpeg", "the data end before the picture does");
  }
  if (manager_.too_many_scans) {
    throw Error(ErrorKind::unreadable, "jpeg",
                "more than " + std::to_string(most_scans) + " scans: no encoder writes so many");
  }
  char text[JMSG_LENGTH_MAX];
  auto* info = reinterpret_cast<j_common_ptr>(const_cast<jpeg_decompress_struct*>(&info_));
  manager_.format_message(info, text);
  throw Error(kind_of(manager_.msg_code), "jpeg", text);
}

std::vector<std::string> JpegSession::check_warnings() const {
  if (manager_.damage > 0) {
    throw Error(ErrorKind::unreadable, "jpeg",
                std::string(manager_.first_damage) + " (" + std::to_string(manager_.damage) +
                    " such places); a damaged picture is refused");
  }
  if (manager_.harmless == 0) return {};
  return {"jpeg: " + std::string(manager_.first_harmless) + " (" +
          std::to_string(manager_.harmless) + " such places, no picture data lost)"};
}

}  // namespace vtower
