#include "engine/dp_link_nccl.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "core/error.h"
#include "engine/dp_c10d.h"

namespace vtower {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t piece_bytes = std::int64_t{256} << 20;

class NcclLink final : public DpLink {
 public:
  explicit NcclLink(const DpLinkOptions& options) : options_(options) {
    auto group_options = c10d::ProcessGroupNCCL::Options::create();
    // Time is kept here; NCCL's own watchdog would end the process with what it has finished.
    group_options->timeout = std::chrono::hours(24 * 365);
    group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(
        connect_store(options.store, options.timeout, "nccl/"), options.rank, options.world_size,
        group_options);
  }
  // Every message was waited for, so nothing is cut short; a shutdown would wait for the others.
  ~NcclLink() override { group_->abort(); }

  void send(const at::Tensor& bytes, int to) override {
    const c10::cuda::CUDAGuard guard(options_.device);
    const at::Tensor on_device = bytes.to(options_.device);
    for (std::int64_t first = 0; first < bytes.size(0); first += piece_bytes) {
      std::vector<at::Tensor> piece{
          on_device.narrow(0, first, std::min(piece_bytes, bytes.size(0) - first))};
      finish([&] { return group_->send(piece, to, 0); }, to);
    }
  }

  at::Tensor receive(std::int64_t bytes, int from) override {
    const c10::cuda::CUDAGuard guard(options_.device);
    const at::Tensor all = at::empty({bytes}, at::TensorOptions(at::kByte).device(options_.device));
    for (std::int64_t first = 0; first < bytes; first += piece_bytes) {
      std::vector<at::Tensor> piece{all.narrow(0, first, std::min(piece_bytes, bytes - first))};
      finish([&] { return group_->recv(piece, from, 0); }, from);
    }
    return all.cpu();
  }

 private:
  template <typename Start>
  void finish(Start start, int other) {
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorKind::peer, "dp", "rank " + std::to_string(other) + ": " + why);
    };
    try {
      const auto work = start();
      const auto until = Clock::now() + options_.timeout;
      while (!work->isCompleted()) {
        if (Clock::now() > until) fail("no answer to an NCCL message in time");
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      work->wait();  // orders this thread's stream after the message
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(first_line(error));
    }
  }

  DpLinkOptions options_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
};

}  // namespace

std::unique_ptr<DpLink> make_nccl_link(const DpLinkOptions& options) {
  return std::make_unique<NcclLink>(options);
}

std::string gpu_identity(c10::Device device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device.index()) != cudaSuccess) return device.str();
  std::string text = "GPU-";  // also tells the parts of one divided GPU apart
  for (const char byte : properties.uuid.bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace vtower
