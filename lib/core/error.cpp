#include "core/error.h"

#include <utility>

namespace vtower {

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::unreadable: return "unreadable";
    case ErrorKind::truncated: return "truncated";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::too_large: return "too_large";
    case ErrorKind::aspect_ratio: return "aspect_ratio";
    case ErrorKind::out_of_range: return "out_of_range";
    case ErrorKind::checkpoint: return "checkpoint";
    case ErrorKind::not_comparable: return "not_comparable";
    case ErrorKind::mode_unavailable: return "mode_unavailable";
    case ErrorKind::device: return "device";
    case ErrorKind::memory: return "memory";
    case ErrorKind::peer: return "peer";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, std::string context, std::string message)
    : kind_(kind),
      context_(std::move(context)),
      message_(std::move(message)),
      text_("[" + context_ + "] " + message_) {}

}  // namespace vtower
