#include "engine/dp_transfer.h"

#include <thread>

namespace vtower {

DpTransfer::DpTransfer(std::function<at::Tensor()> transfer) : state_(std::make_shared<State>()) {
  std::thread([state = state_, transfer = std::move(transfer)]() mutable {
    try {
      state->tensor = transfer();
    } catch (...) {
      state->error = std::current_exception();
    }
    transfer = nullptr;  // lets go of the link before anybody hears of the end
    state->done = true;
  }).detach();
}

std::optional<at::Tensor> DpTransfer::finished() const {
  if (!state_->done) return std::nullopt;
  if (state_->error) std::rethrow_exception(state_->error);
  return state_->tensor;
}

}  // namespace vtower
