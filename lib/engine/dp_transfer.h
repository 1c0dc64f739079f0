// A message under way between two ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace vtower {

// Runs on a thread of its own, which is left behind when nobody waits for it any more.
class DpTransfer {
 public:
  explicit DpTransfer(std::function<at::Tensor()> transfer);

  // The tensor once it is there (empty tensor of a send); rethrows what the transfer threw.
  [[nodiscard]] std::optional<at::Tensor> finished() const;

 private:
  struct State {
    std::atomic<bool> done = false;
    at::Tensor tensor;
    std::exception_ptr error;
  };
  std::shared_ptr<State> state_;
};

}  // namespace vtower
