// When the GPU was at work, as CUPTI saw it.
#pragma once

#include <cstdint>
#include <functional>

namespace vtower::cli {

struct DeviceWork {
  std::int64_t launches = 0;  // kernels, copies and fills
  double busy_seconds = 0;    // at least one of them ran
  double span_seconds = 0;    // from the begin of the first to the end of the last
};

// All that the device does for `call`, which must end synchronised. Tracing slows the device down
// between kernels, so the busy share comes out low rather than high. Throws
// Error{mode_unavailable} where CUPTI refuses. One call at a time.
DeviceWork trace_device(const std::function<void()>& call);

}  // namespace vtower::cli
