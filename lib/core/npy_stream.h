// One .npy file in a stream of bytes: what .npy files and the members of .npz files share.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/npy.h"

namespace vtower {

// Bytes that come in order, and how many are left.
class NpyStream {
 public:
  virtual ~NpyStream() = default;
  [[nodiscard]] virtual std::uint64_t left() const = 0;
  // Fills all of `target`, which holds no more than left(). Throws Error where the bytes are
  // damaged.
  virtual void read(std::span<std::uint8_t> target) = 0;
};

// Reads the stream to its end. `name` speaks in errors: a file, or a member of one. `allowed`: the
// most bytes that the array may have.
NpyArray read_npy_stream(NpyStream& stream, const std::string& name, std::uint64_t allowed);

}  // namespace vtower
