// When the GPU was at work, as CUPTI saw it.
#pragma once

#include <cstdint>
#include <functional>

namespace vtower::cli {

struct DeviceWork {
  std::int64_t launches = 0;  // kernels, copies and fills
  double busy_seconds = 0;    // at least one of them ran
};

// All that the device does for `call`, which must end synchronised. Tracing lengthens the
// gaps between kernels, so times of the whole are to be taken without it. Throws
// Error{mode_unavailable} where CUPTI refuses. One call at a time.
DeviceWork trace_device(const std::function<void()>& call);

}  // namespace vtower::cli
