#include "cli/mode_spec.h"

#include <algorithm>

#include "core/error.h"

namespace vtower::cli {
namespace {

[[noreturn]] void refuse(const std::string& part, const std::string& why) {
  throw Error(ErrorKind::usage, "modes",
              "--modes " + part + ": " + why +
                  "; expected eager, graph, graph-plan or dp, each with @DEVICE and :DTYPE if need "
                  "be: graph@cuda:bf16");
}

Mode mode_of(const std::string& part, const std::string& word) {
  for (const Mode mode : {Mode::eager, Mode::graph, Mode::graph_plan, Mode::dp}) {
    if (word == to_string(mode)) return mode;
  }
  if (word == to_string(Mode::oracle)) refuse(part, "every mode is compared with the oracle");
  refuse(part, "no such mode");
}

}  // namespace

std::vector<ModeSpec> parse_modes(const std::vector<std::string>& parts, const std::string& device,
                                  const std::string& dtype) {
  std::vector<ModeSpec> modes;
  for (const std::string& part : parts) {
    ModeSpec spec{part, Mode::eager, device, dtype};
    std::string rest = part;
    // The type stands last: "cuda:1" is a device.
    for (const std::string type : {"fp32", "bf16", "fp16", "auto"}) {
      if (!rest.ends_with(":" + type)) continue;
      spec.dtype = type;
      rest.resize(rest.size() - type.size() - 1);
      break;
    }
    const std::size_t at = rest.find('@');
    if (at != std::string::npos) {
      spec.device = rest.substr(at + 1);
      rest.resize(at);
      if (!is_device_name(spec.device)) refuse(part, "no device is called " + spec.device);
    }
    spec.mode = mode_of(part, rest);
    const bool twice = std::any_of(modes.begin(), modes.end(), [&](const ModeSpec& other) {
      return other.mode == spec.mode && other.device == spec.device && other.dtype == spec.dtype;
    });
    if (twice) refuse(part, "given twice: a mode that is compared with itself shows nothing");
    modes.push_back(std::move(spec));
  }
  if (modes.empty()) refuse("", "no mode");
  return modes;
}

}  // namespace vtower::cli
