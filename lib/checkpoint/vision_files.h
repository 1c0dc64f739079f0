// Which safetensors files of a folder hold vision tensors, and under which prefix.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/safetensors.h"

namespace vtower {

struct VisionTensor {
  TensorView view;
  std::shared_ptr<const SafetensorsFile> file;
};

struct VisionFiles {
  std::string prefix;                           // "visual.", "model.visual." or "thinker.visual."
  std::map<std::string, VisionTensor> tensors;  // by name without the prefix
  std::vector<std::string> notes;
};

// Opens model.safetensors, or the shards of model.safetensors.index.json. Headers are read, data
// are not. Throws Error{checkpoint}: no weights (naming what lies there instead), both forms at
// once, a stale index, a missing shard that holds vision tensors, a tensor in two shards, no or
// several prefixes. A missing or damaged shard without vision tensors is a note.
VisionFiles open_vision_files(const std::filesystem::path& folder);

}  // namespace vtower
