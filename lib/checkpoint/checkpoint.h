// A Hugging Face checkpoint folder, opened and checked as far as its vision tower goes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/preprocessor_config.h"
#include "checkpoint/vision_config.h"
#include "checkpoint/weight_source.h"

namespace vtower {

struct OpenOptions {
  // Reads the tower as one of this family where the checkpoint's own model_type is unknown;
  // recorded in notes(). Shapes and names of all tensors are checked as ever.
  std::optional<Family> family;
};

// Immutable after open(); safe to share between threads.
class Checkpoint {
 public:
  // `path`: a folder with config.json, or a hub cache folder (models--*/ with refs and snapshots).
  // Throws Error{checkpoint} that names file, key or tensor with expected and found; for a .bin,
  // .pt or .gguf given by mistake it says what was found and what is read.
  static Checkpoint open(const std::filesystem::path& path, const OpenOptions& options = {});

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] const VisionConfig& vision() const noexcept { return vision_; }
  [[nodiscard]] const PreprocessorConfig& preprocessor() const noexcept { return preprocessor_; }
  // "visual.", "model.visual." or "thinker.visual.".
  [[nodiscard]] const std::string& prefix() const noexcept { return weights_.prefix_; }
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  // A fresh source over the same mapped files; language-model tensors are not in it and their
  // bytes are never read.
  [[nodiscard]] WeightSource weights() const { return weights_; }

 private:
  Checkpoint(std::filesystem::path folder, VisionConfig vision, PreprocessorConfig preprocessor,
             WeightSource weights, std::vector<std::string> notes);

  std::filesystem::path folder_;
  VisionConfig vision_;
  PreprocessorConfig preprocessor_;
  WeightSource weights_;
  std::vector<std::string> notes_;
};

}  // namespace vtower
