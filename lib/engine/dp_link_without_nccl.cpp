#include "core/error.h"
#include "engine/dp_link_nccl.h"

namespace vtower {

std::unique_ptr<DpLink> make_nccl_link(const DpLinkOptions&) {
  throw Error(ErrorKind::mode_unavailable, "dp", "this build has no CUDA parts, so no NCCL");
}

std::string gpu_identity(c10::Device device) {
  return device.str();
}

}  // namespace vtower
