#include "core/error.h"
#include "tower/device_ops.h"

namespace vtower::device {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::mode_unavailable, "device", "this build has no CUDA parts");
}

}  // namespace

at::Tensor normalize(const at::Tensor&, const at::Tensor&, at::ScalarType) {
  refuse();
}
void rotate(at::Tensor&, const Rotation&) {
  refuse();
}

}  // namespace vtower::device
