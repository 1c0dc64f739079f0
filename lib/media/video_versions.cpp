#include "media/video_versions.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

namespace vtower {
namespace {

std::string text(unsigned version) {
  return std::to_string(AV_VERSION_MAJOR(version)) + "." +
         std::to_string(AV_VERSION_MINOR(version)) + "." +
         std::to_string(AV_VERSION_MICRO(version));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> video_library_versions() {
  return {{"libavformat", text(avformat_version())},
          {"libavcodec", text(avcodec_version())},
          {"libswscale", text(swscale_version())}};
}

}  // namespace vtower
