// The options on pixels, the same for every verb that reads media.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs.h"
#include "core/pixel_spec.h"
#include "media/media_options.h"

namespace vtower::cli {

struct MediaArguments {
  std::vector<std::string> inputs;
  bool nul_separated = false;
  MediaOptions options;
  std::optional<std::int64_t> min_pixels;
  std::optional<std::int64_t> max_pixels;

  // Declares INPUT... and the options.
  void add_to(CLI::App& app);

  // The checkpoint's pixels under the user's limits. Throws Error{usage} when the options
  // contradict each other or the checkpoint.
  [[nodiscard]] PixelSpec apply_to(PixelSpec spec) const;
  [[nodiscard]] std::vector<std::filesystem::path> paths() const;
  // Every choice, for the record.
  [[nodiscard]] nlohmann::ordered_json to_json() const;
};

}  // namespace vtower::cli
