// libtiff as an object: memory source, errors as exceptions.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace vtower {

class TiffSession {
 public:
  // Throws Error{truncated, unreadable} when the first directory cannot be read.
  explicit TiffSession(std::span<const std::uint8_t> bytes);
  ~TiffSession();
  TiffSession(const TiffSession&) = delete;
  TiffSession& operator=(const TiffSession&) = delete;

  [[nodiscard]] TIFF* tiff() const noexcept { return tiff_; }

  // A tag with one value; `fallback` where it is absent and libtiff knows no default.
  template <typename Value>
  [[nodiscard]] Value tag(std::uint32_t number, Value fallback) const {
    Value value = fallback;
    return TIFFGetFieldDefaulted(tiff_, number, &value) != 0 ? value : fallback;
  }

  // Whether the file leaves out what its surplus samples mean; libtiff then calls them unspecified.
  [[nodiscard]] bool extra_samples_unnamed() const noexcept { return state_.unnamed_samples; }

  // Throws what the last failed call meant.
  [[noreturn]] void fail() const;

 private:
  struct State {
    std::span<const std::uint8_t> bytes;
    std::uint64_t position = 0;
    bool passed_end = false;
    bool unnamed_samples = false;
    std::string message;
  };
  static tmsize_t on_read(thandle_t handle, void* out, tmsize_t count);
  static toff_t on_seek(thandle_t handle, toff_t offset, int whence);
  static int on_error(TIFF*, void* user, const char* module, const char* format, va_list arguments);
  static int on_warning(TIFF*, void* user, const char* module, const char* format,
                        va_list arguments);

  State state_;
  TIFF* tiff_ = nullptr;
};

}  // namespace vtower
