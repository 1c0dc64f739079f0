// libjpeg as an object: memory source, errors as exceptions, warnings sorted by what they mean.
#pragma once

// clang-format off
#include <stdio.h>  // before jpeglib.h, which needs FILE and size_t and includes neither
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vtower {

class JpegSession {
 public:
  explicit JpegSession(std::span<const std::uint8_t> bytes);
  ~JpegSession();
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;

  [[nodiscard]] jpeg_decompress_struct& info() noexcept { return info_; }

  // Runs a call into libjpeg and throws Error where it fails. The call must not own anything: an
  // error leaves it by longjmp.
  template <typename Call>
  void run(Call call) {
    if (setjmp(manager_.escape) != 0) throw_error();
    call(info_);
  }

  // Throws Error where a warning meant lost picture data, which libjpeg papers over: a cut scan,
  // bad codes, missing restart markers. Warnings of the harmless kind become notes.
  [[nodiscard]] std::vector<std::string> check_warnings() const;

 private:
  struct ErrorManager : jpeg_error_mgr {
    std::jmp_buf escape;
    bool end_of_data = false;  // the source ran dry
    bool too_many_scans = false;
    long damage = 0;  // warnings that mean lost data
    long harmless = 0;
    char first_damage[JMSG_LENGTH_MAX];
    char first_harmless[JMSG_LENGTH_MAX];
  };

  static ErrorManager& manager_of(j_common_ptr info);
  static void on_error(j_common_ptr info);
  static void on_message(j_common_ptr info, int level);
  static void on_progress(j_common_ptr info);
  static boolean on_empty_source(j_decompress_ptr info);
  static void on_skip(j_decompress_ptr info, long count);
  [[noreturn]] void throw_error() const;

  ErrorManager manager_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

}  // namespace vtower
