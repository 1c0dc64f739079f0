#include "cli/kernel_times.h"
#include "core/error.h"

namespace vtower::cli {

DeviceWork trace_device(const std::function<void()>&) {
  throw Error(ErrorKind::mode_unavailable, "cupti", "this build has no CUDA parts");
}

}  // namespace vtower::cli
