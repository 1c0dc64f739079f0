// The part of dp_link.h that needs CUDA.
#pragma once

#include "engine/dp_link.h"

namespace vtower {

std::unique_ptr<DpLink> make_nccl_link(const DpLinkOptions& options);
std::string gpu_identity(c10::Device device);

}  // namespace vtower
