// Small dumps for tests, and what comes of opening them.
#pragma once

#include <bit>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "check/dump.h"
#include "core/error.h"
#include "core/safetensors.h"
#include "support/temp_dir.h"

namespace vtower::test {

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A dump in the making.
class DumpFile {
 public:
  // Values 0, 1, 2, ... plus `start`, as float32.
  DumpFile& rows(const std::string& name, std::vector<std::int64_t> shape, float start = 1) {
    std::vector<float> values(1);
    for (const std::int64_t side : shape) values.resize(values.size() * side);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<float>(i);
    return add(name, DType::f32, std::move(shape), values.data(), values.size() * 4);
  }
  DumpFile& whole(const std::string& name, std::vector<std::int64_t> shape,
                  const std::vector<std::int64_t>& values) {
    return add(name, DType::i64, std::move(shape), values.data(), values.size() * 8);
  }
  DumpFile& grids(const std::vector<std::int64_t>& sides) {
    return whole("grid_thw", {static_cast<std::int64_t>(sides.size() / 3), 3}, sides);
  }
  DumpFile& cu(const std::vector<std::int64_t>& values, const std::string& name = "cu_tokens") {
    return whole(name, {static_cast<std::int64_t>(values.size())}, values);
  }
  DumpFile& bytes(const std::string& name, DType type, std::vector<std::int64_t> shape,
                  const std::vector<std::uint8_t>& content) {
    return add(name, type, std::move(shape), content.data(), content.size());
  }
  DumpFile& header(const std::string& key, const std::string& text) {
    metadata_[key] = text;
    return *this;
  }

  std::filesystem::path write(const std::filesystem::path& path) const {
    std::vector<TensorToWrite> list;
    for (const Tensor& tensor : tensors_) {
      list.push_back({tensor.name, tensor.type, tensor.shape, {tensor.content}});
    }
    write_safetensors(path, std::move(list), metadata_);
    return path;
  }

 private:
  struct Tensor {
    std::string name;
    DType type;
    std::vector<std::int64_t> shape;
    std::vector<std::uint8_t> content;
  };

  DumpFile& add(const std::string& name, DType type, std::vector<std::int64_t> shape,
                const void* data, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    tensors_.push_back({name, type, std::move(shape), {first, first + size}});
    return *this;
  }

  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// "accepted", or the kind of the error and its message.
inline std::string outcome(const std::filesystem::path& path, const DumpOptions& options = {}) {
  try {
    Dump::open(path, options);
    return "accepted";
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.message();
  }
}

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool notes_say(const Dump& dump, const std::string& part) {
  for (const std::string& note : dump.notes()) {
    if (says(note, part)) return true;
  }
  return false;
}

// Values of float32 rows.
inline std::vector<float> values(const TokenRows& rows) {
  std::vector<float> all;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const std::span<const std::uint8_t> row = rows.row(r);
    const std::size_t first = all.size();
    all.resize(first + row.size() / 4);
    std::memcpy(all.data() + first, row.data(), row.size());
  }
  return all;
}

inline std::string bytes_of(const TokenRows& rows) {
  std::string all;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const std::span<const std::uint8_t> row = rows.row(r);
    all.append(reinterpret_cast<const char*>(row.data()), row.size());
  }
  return all;
}

}  // namespace vtower::test
