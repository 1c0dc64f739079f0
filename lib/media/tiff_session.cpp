#include "media/tiff_session.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "core/error.h"

namespace vtower {

tmsize_t TiffSession::on_read(thandle_t handle, void* out, tmsize_t count) {
  auto& state = *static_cast<State*>(handle);
  const std::uint64_t left =
      state.bytes.size() - std::min<std::uint64_t>(state.position, state.bytes.size());
  const auto taken = std::min(static_cast<std::uint64_t>(count), left);
  state.passed_end = state.passed_end || taken < static_cast<std::uint64_t>(count);
  if (taken > 0) std::memcpy(out, state.bytes.data() + state.position, taken);
  state.position += taken;
  return static_cast<tmsize_t>(taken);
}

toff_t TiffSession::on_seek(thandle_t handle, toff_t offset, int whence) {
  auto& state = *static_cast<State*>(handle);
  const std::uint64_t base = whence == SEEK_SET   ? 0
                             : whence == SEEK_CUR ? state.position
                                                  : state.bytes.size();
  state.position = base + offset;
  return state.position;
}

int TiffSession::on_error(TIFF*, void* user, const char* module, const char* format,
                          va_list arguments) {
  auto& state = *static_cast<State*>(user);
  if (!state.message.empty()) return 1;  // the first one is the cause
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  state.message = (module != nullptr ? std::string(module) + ": " : "") + text.data();
  return 1;
}

int TiffSession::on_warning(TIFF*, void* user, const char*, const char* format, va_list) {
  constexpr std::string_view unnamed = "Defining non-color channels as ExtraSamples";
  auto& state = *static_cast<State*>(user);
  state.unnamed_samples =
      state.unnamed_samples || std::string_view(format).find(unnamed) != std::string_view::npos;
  return 1;
}

TiffSession::TiffSession(std::span<const std::uint8_t> bytes) : state_{bytes, 0, false, false, {}} {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &state_);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, &state_);
  // No directory or codec table of use is larger; the picture itself is read in our own memory.
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, tmsize_t{1} << 28);
  tiff_ = TIFFClientOpenExt(
      "tiff", "rm", &state_, on_read, [](thandle_t, void*, tmsize_t) { return tmsize_t{0}; },
      on_seek, [](thandle_t) { return 0; },
      [](thandle_t handle) { return toff_t{static_cast<State*>(handle)->bytes.size()}; },
      [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {}, options);
  TIFFOpenOptionsFree(options);
  if (tiff_ == nullptr) fail();
}

TiffSession::~TiffSession() {
  if (tiff_ != nullptr) TIFFClose(tiff_);
}

void TiffSession::fail() const {
  throw Error(state_.passed_end ? ErrorKind::truncated : ErrorKind::unreadable, "tiff",
              state_.message.empty() ? "the file cannot be read" : state_.message);
}

}  // namespace vtower
