// What is shared by the few files that include c10d's heavy headers.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "engine/dp_store.h"

namespace vtower {

// A connection of its own to the store, for a process group.
inline c10::intrusive_ptr<c10d::Store> connect_store(const DpStoreAddress& address,
                                                     std::chrono::milliseconds timeout,
                                                     const std::string& prefix) {
  c10d::TCPStoreOptions options;
  options.port = address.port;
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::PrefixStore>(
      address.prefix + prefix, c10::make_intrusive<c10d::TCPStore>(address.host, options));
}

// What c10d says, without its stack trace and the lines below the first.
inline std::string first_line(const std::exception& error) {
  const auto* c10_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      c10_error != nullptr ? c10_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace vtower
