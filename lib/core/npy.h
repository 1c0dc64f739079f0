// NumPy's file formats .npy and .npz, read strictly.
//
// Source: numpy.lib.format of NumPy 2.4 (versions 1.0 to 3.0). An .npz is a zip whose members are
// .npy files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/byte_buffer.h"
#include "core/dtype.h"

namespace vtower {

// An array in C order and little-endian, whatever the file held.
struct NpyArray {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // empty: a scalar, one element
  ByteBuffer bytes;
  std::string descr;           // element type as in the file: ">f4"
  bool fortran_order = false;  // of the file
};

struct NpyLimits {
  std::uint64_t max_bytes = std::uint64_t{16} << 30;  // of all arrays of a file together
};

// Throws Error: unreadable (no such file, no .npy, a header that is not as NumPy writes it, bytes
// after the array), truncated, unsupported (element types without a DType: complex, text, objects,
// structures; V2, which is what bfloat16 becomes in .npy), too_large (above the limits). No more is
// allocated than the file can hold. Thread-safe.
NpyArray read_npy(const std::filesystem::path& path, const NpyLimits& limits = {});

// The members by name without ".npy", stored or deflated. Throws as read_npy() does, and
// unreadable for a damaged zip, a wrong checksum, a member that is no .npy and a name that is
// there twice.
std::map<std::string, NpyArray> read_npz(const std::filesystem::path& path,
                                         const NpyLimits& limits = {});

}  // namespace vtower
