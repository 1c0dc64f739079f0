// The program's own version; project(VERSION) in CMakeLists.txt.
#pragma once

namespace vtower::cli {

inline constexpr const char* version = VTOWER_VERSION;

}  // namespace vtower::cli
