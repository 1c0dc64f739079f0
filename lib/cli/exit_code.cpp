#include "cli/exit_code.h"

#include <algorithm>
#include <array>

namespace vtower::cli {

ExitCode exit_code_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage: return ExitCode::usage;
    case ErrorKind::unreadable:
    case ErrorKind::truncated:
    case ErrorKind::unsupported:
    case ErrorKind::too_large:
    case ErrorKind::aspect_ratio:
    case ErrorKind::out_of_range: return ExitCode::bad_input;
    case ErrorKind::checkpoint: return ExitCode::bad_checkpoint;
    case ErrorKind::not_comparable: return ExitCode::not_comparable;
    case ErrorKind::mode_unavailable: return ExitCode::mode_unavailable;
    case ErrorKind::device:
    case ErrorKind::memory:
    case ErrorKind::peer: return ExitCode::resources;
  }
  return ExitCode::resources;
}

ExitCode worst(const std::vector<ExitCode>& codes) noexcept {
  constexpr std::array order{ExitCode::usage,     ExitCode::bad_checkpoint,
                             ExitCode::resources, ExitCode::mode_unavailable,
                             ExitCode::bad_input, ExitCode::differ_named,
                             ExitCode::differ,    ExitCode::not_comparable,
                             ExitCode::vacuous};
  for (const ExitCode code : order) {
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  }
  return ExitCode::ok;
}

}  // namespace vtower::cli
