#include "checkpoint/checkpoint.h"

#include <utility>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/json_object.h"
#include "checkpoint/vision_files.h"
#include "core/error.h"

namespace vtower {
namespace {

// The dtype that the reference would load with, and a hint at quantisation: neither decides
// anything here, the tensors' own types do.
std::vector<std::string> notes_on_dtype(const std::filesystem::path& folder, DType main) {
  const JsonObject config = JsonObject::read(folder / "config.json", "checkpoint");
  std::vector<std::string> notes;
  if (config.has("quantization_config")) {
    notes.push_back(config.origin("quantization_config") +
                    " is not read: each tensor's own type decides");
  }
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!config.has(key)) continue;
    const std::string stated = config.text(key);
    const std::string found = main == DType::bf16  ? "bfloat16"
                              : main == DType::f16 ? "float16"
                                                   : "float32";
    if (stated != found) {
      notes.push_back(config.origin(key) + " says " + stated + ", the vision tensors are " + found);
    }
    break;
  }
  return notes;
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path folder, VisionConfig vision,
                       PreprocessorConfig preprocessor, WeightSource weights,
                       std::vector<std::string> notes)
    : folder_(std::move(folder)),
      vision_(std::move(vision)),
      preprocessor_(std::move(preprocessor)),
      weights_(std::move(weights)),
      notes_(std::move(notes)) {}

Checkpoint Checkpoint::open(const std::filesystem::path& path, const OpenOptions& options) {
  std::filesystem::path folder = find_checkpoint_folder(path);
  VisionConfig vision = read_vision_config(folder, options.family);
  PreprocessorConfig preprocessor = read_preprocessor_config(folder, vision);
  VisionFiles files = open_vision_files(folder);

  WeightSource weights;
  weights.prefix_ = files.prefix;
  for (auto& [name, tensor] : files.tensors) {
    weights.tensors_.emplace(name, WeightSource::Stored{std::move(tensor.view), tensor.file});
  }

  std::vector<std::string> notes = vision.notes;
  for (const std::vector<std::string>& more :
       {preprocessor.notes, files.notes, notes_on_dtype(folder, weights.main_dtype())}) {
    notes.insert(notes.end(), more.begin(), more.end());
  }
  return {std::move(folder), std::move(vision), std::move(preprocessor), std::move(weights),
          std::move(notes)};
}

}  // namespace vtower
