// The file side of `inspect`: dumps, pixel files and media.
#pragma once

#include <filesystem>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "cli/media_arguments.h"
#include "cli/record.h"
#include "cli/terminal.h"

namespace vtower::cli {

// Prints what the file is; returns the same as JSON. Without a checkpoint, pixel values and the
// plan for a medium cannot be told: Error{usage} says so. Throws Error as the readers do.
Json inspect_file(const std::filesystem::path& path, const std::optional<Checkpoint>& checkpoint,
                  const MediaArguments& media, const Terminal& terminal);

}  // namespace vtower::cli
