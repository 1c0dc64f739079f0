// A golden checkpoint copied into a folder of its own, to be edited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "core/safetensors.h"
#include "support/golden.h"
#include "support/temp_dir.h"

namespace vtower::test {

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The message of the Error{checkpoint} that `action` throws; "accepted" when it throws none.
template <typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::checkpoint) return "another kind: " + error.message();
    return error.message();
  }
  return "accepted";
}

struct OwnedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

class CheckpointCopy {
 public:
  explicit CheckpointCopy(const std::string& name) {
    const auto source = golden("towers/checkpoints") / name;
    for (const auto& entry : std::filesystem::directory_iterator(source)) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::ofstream(path() / entry.path().filename(), std::ios::binary) << in.rdbuf();
    }
  }

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path() / name; }
  void write(const std::string& name, const std::string& bytes) const {
    folder_.write(name, bytes);
  }
  void remove(const std::string& name) const { std::filesystem::remove(path() / name); }

  [[nodiscard]] nlohmann::json json(const std::string& name) const {
    std::ifstream in(path() / name);
    return nlohmann::json::parse(in);
  }
  void edit(const std::string& name, const std::function<void(nlohmann::json&)>& change) const {
    nlohmann::json value = json(name);
    change(value);
    folder_.write(name, value.dump(2));
  }
  void edit_vision(const std::function<void(nlohmann::json&)>& change) const {
    edit("config.json", [&](nlohmann::json& config) { change(config["vision_config"]); });
  }

  [[nodiscard]] std::vector<OwnedTensor> tensors(
      const std::string& name = "model.safetensors") const {
    const SafetensorsFile opened(path() / name, ErrorKind::checkpoint);
    std::vector<OwnedTensor> owned;
    for (const auto& [tensor, view] : opened.tensors()) {
      owned.push_back({tensor, *view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
    }
    return owned;
  }
  void write_tensors(const std::vector<OwnedTensor>& owned,
                     const std::string& name = "model.safetensors") const {
    std::vector<TensorToWrite> written;
    for (const OwnedTensor& tensor : owned) {
      written.push_back({tensor.name, tensor.dtype, tensor.shape, {tensor.bytes}});
    }
    write_safetensors(path() / name, written, {{"format", "pt"}});
  }
  // Rewrites model.safetensors with every tensor changed in place.
  void edit_tensors(const std::function<void(OwnedTensor&)>& change) const {
    std::vector<OwnedTensor> owned = tensors();
    for (OwnedTensor& tensor : owned) change(tensor);
    write_tensors(owned);
  }

  [[nodiscard]] Checkpoint open(const OpenOptions& options = {}) const {
    return Checkpoint::open(path(), options);
  }
  [[nodiscard]] std::string refusal(const OpenOptions& options = {}) const {
    return test::refusal([&] { (void)open(options); });
  }

 private:
  TempDir folder_;
};

inline bool has_note(const Checkpoint& checkpoint, const std::string& part) {
  for (const std::string& note : checkpoint.notes()) {
    if (mentions(note, part)) return true;
  }
  return false;
}

}  // namespace vtower::test
