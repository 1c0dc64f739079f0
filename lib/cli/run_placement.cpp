#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "cli/run_arguments.h"
#include "core/error.h"

namespace vtower::cli {

c10::Device device_of(const std::string& name) {
  const std::size_t gpus = at::hasCUDA() ? at::getNumGPUs() : 0;
  if (name == "cpu" || (name == "auto" && gpus == 0)) return c10::kCPU;
  const c10::Device device =
      name == "auto" || name == "cuda" ? c10::Device(c10::kCUDA, 0) : c10::Device(name);
  if (gpus == 0) {
    throw Error(ErrorKind::mode_unavailable, "device",
                "--device " + name +
                    ": no GPU can be used (none is present, or this build has no "
                    "CUDA parts); use --device cpu");
  }
  if (static_cast<std::size_t>(device.index()) >= gpus) {
    throw Error(ErrorKind::mode_unavailable, "device",
                "--device " + name + ": this machine has " + std::to_string(gpus) + " GPU");
  }
  // One rounding at the end of a product: no TF32, no sums in reduced precision.
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false);
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  return device;
}

Placement RunArguments::placement(const Checkpoint& opened) const {
  Placement placement;
  placement.device = device_of(device);
  if (dtype == "auto") {
    placement.dtype = opened.weights().main_dtype();
  } else {
    placement.dtype = dtype == "fp32" ? DType::f32 : dtype == "bf16" ? DType::bf16 : DType::f16;
  }
  return placement;
}

int RunArguments::apply_threads(int processes) const {
  const int count = thread_count(threads, processes);
  at::set_num_threads(count);
  return count;
}

}  // namespace vtower::cli
