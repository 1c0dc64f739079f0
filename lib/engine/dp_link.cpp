#include "engine/dp_link.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/error.h"
#include "engine/dp_c10d.h"
#include "engine/dp_link_nccl.h"

namespace vtower {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{64} << 20;

class GlooLink final : public DpLink {
 public:
  explicit GlooLink(const DpLinkOptions& options) {
    auto group_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
    // By address: the name of a host may stand for its loopback, which nobody else reaches.
    group_options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(options.address));
    try {
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(
          connect_store(options.store, options.timeout, "gloo/"), options.rank, options.world_size,
          group_options);
    } catch (const std::exception& error) {
      throw Error(ErrorKind::peer, "dp",
                  "rank " + std::to_string(options.rank) + " at " + options.address +
                      " did not reach all other ranks: " + first_line(error));
    }
  }

  void send(const at::Tensor& bytes, int to) override {
    const at::Tensor host = bytes.cpu();
    pass(host, to, [&](std::vector<at::Tensor>& piece) { return group_->send(piece, to, 0); });
  }

  at::Tensor receive(std::int64_t bytes, int from) override {
    const at::Tensor all = at::empty({bytes}, at::kByte);
    pass(all, from, [&](std::vector<at::Tensor>& piece) { return group_->recv(piece, from, 0); });
    return all;
  }

 private:
  template <typename Start>
  static void pass(const at::Tensor& all, int other, Start start) {
    try {
      for (std::int64_t first = 0; first < all.size(0); first += piece_bytes) {
        std::vector<at::Tensor> piece{
            all.narrow(0, first, std::min(piece_bytes, all.size(0) - first))};
        start(piece)->wait();  // within the group's timeout
      }
    } catch (const std::exception& error) {
      throw Error(ErrorKind::peer, "dp",
                  "rank " + std::to_string(other) + ": " + first_line(error));
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::string_view to_string(DpBackend backend) noexcept {
  return backend == DpBackend::gloo ? "gloo" : "nccl";
}

std::unique_ptr<DpLink> make_link(DpBackend backend, const DpLinkOptions& options) {
  if (backend == DpBackend::nccl) return make_nccl_link(options);
  return std::make_unique<GlooLink>(options);
}

std::string device_identity(c10::Device device) {
  return device.is_cpu() ? std::string() : gpu_identity(device);
}

}  // namespace vtower
