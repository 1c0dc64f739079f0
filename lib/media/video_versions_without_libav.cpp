#include "media/video_versions.h"

namespace vtower {

std::vector<std::pair<std::string, std::string>> video_library_versions() {
  return {};
}

}  // namespace vtower
