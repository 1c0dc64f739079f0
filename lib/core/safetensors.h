// The safetensors file format, and nothing else.
//
// Source: the format description of the safetensors project, 0.8: u64 little-endian header length,
// JSON header, then the data, covered exactly by the tensors in offset order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/file.h"

namespace vtower {

// A tensor in a mapped file: row-major, little-endian, of any alignment.
struct TensorView {
  std::string dtype_name;      // as in the header, also where `dtype` is empty
  std::optional<DType> dtype;  // empty for element types that vtower does not read
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

// An opened file. The constructor checks all of it: header length within the file and the format's
// 100 MB, JSON without duplicate keys, element counts against byte counts, no overlap, no hole, no
// trailing byte. Throws Error of the given kind (a damaged checkpoint and a damaged dump have
// different exit codes) that names file, tensor, expected and found.
class SafetensorsFile {
 public:
  SafetensorsFile(std::filesystem::path path, ErrorKind kind_of_errors);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::map<std::string, TensorView>& tensors() const noexcept {
    return tensors_;
  }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept {
    return metadata_;
  }
  // nullptr when there is none of that name.
  [[nodiscard]] const TensorView* find(const std::string& name) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// What is to be written under a name: the bytes of all parts one after the other, read during
// write_safetensors() only. Their sum must fit shape and type (asserted).
struct TensorToWrite {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::span<const std::uint8_t>> parts;
};

// Writes beside `path` and renames: the file appears complete or not at all. Tensors are laid out
// widest element first, then by name, so that all of them are naturally aligned. `metadata` goes
// into the header in the order of its keys.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace vtower
