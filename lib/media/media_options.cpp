#include "media/media_options.h"

namespace vtower {

std::string_view to_string(Profile profile) noexcept {
  switch (profile) {
    case Profile::vllm: return "vllm";
    case Profile::hf: return "hf";
    case Profile::hf_pil: return "hf-pil";
  }
  return "unknown";
}

std::string_view to_string(SampleBy rule) noexcept {
  switch (rule) {
    case SampleBy::index: return "index";
    case SampleBy::time: return "time";
  }
  return "unknown";
}

std::string_view to_string(OnCorrupt policy) noexcept {
  switch (policy) {
    case OnCorrupt::fail: return "fail";
    case OnCorrupt::nearest: return "nearest";
  }
  return "unknown";
}

}  // namespace vtower
