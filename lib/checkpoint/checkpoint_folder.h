// From what the user names to the folder that holds config.json.
#pragma once

#include <filesystem>

namespace vtower {

// `path` itself, or the snapshot of a hub cache folder (models--*/): the one of refs/main, or the
// only one. Throws Error{checkpoint} that says what was found and what is read.
std::filesystem::path find_checkpoint_folder(const std::filesystem::path& path);

}  // namespace vtower
