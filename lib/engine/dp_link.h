// Tensors between ranks: c10d's process groups.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "engine/dp_store.h"

namespace vtower {

enum class DpBackend {
  gloo,  // through host memory
  nccl,  // from GPU to GPU
};

std::string_view to_string(DpBackend backend) noexcept;

// Both calls may be made from several threads at once for different ranks; between two ranks,
// messages arrive in the order in which they were sent. Throws Error{peer} when the other side is
// gone or does not take part within the timeout.
class DpLink {
 public:
  virtual ~DpLink() = default;

  // uint8 [n], n >= 1, on any device; returns once the memory may be written again.
  virtual void send(const at::Tensor& bytes, int to) = 0;
  // uint8 [n] in host memory.
  [[nodiscard]] virtual at::Tensor receive(std::int64_t bytes, int from) = 0;
};

struct DpLinkOptions {
  int rank = 0;
  int world_size = 1;
  DpStoreAddress store;                 // of a server that is up
  std::string address;                  // of this host, as other ranks reach it (gloo)
  c10::Device device = c10::kCPU;       // of this rank's tower (nccl)
  std::chrono::milliseconds timeout{};  // of each piece of a message
};

// All ranks must call it. Throws Error{peer} when one does not, Error{mode_unavailable} where this
// build lacks the backend.
std::unique_ptr<DpLink> make_link(DpBackend backend, const DpLinkOptions& options);

// Where this rank's work would run: two ranks with one identity would share a GPU. Empty for CPUs.
std::string device_identity(c10::Device device);

}  // namespace vtower
