#include "cli/vtower_main.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "cli/command_line.h"

namespace vtower::cli {

int vtower_main(int argc, char** argv) {
  CommandLine line;
  if (const auto ended = line.parse(argc, argv)) return static_cast<int>(*ended);
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path runner = self.parent_path() / "vtower-run";
  ::execv(runner.c_str(), argv);
  line.terminal().complain("[vtower] " + runner.string() + " cannot be started: " +
                           std::strerror(errno) + "; it belongs beside vtower");
  return static_cast<int>(ExitCode::mode_unavailable);
}

}  // namespace vtower::cli
