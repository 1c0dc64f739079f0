// The libraries that decode video, for the record.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vtower {

// Empty in a build without video.
std::vector<std::pair<std::string, std::string>> video_library_versions();

}  // namespace vtower
