#include "cli/inputs.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "core/error.h"

namespace vtower::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_path = 1 << 16;  // a list of anything else ends soon

bool has_medium_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 21> names{
      ".jpg",  ".jpeg", ".png", ".gif",  ".bmp", ".webp", ".tif",
      ".tiff", ".apng", ".mp4", ".m4v",  ".mov", ".mkv",  ".webm",
      ".avi",  ".ts",   ".mpg", ".mpeg", ".y4m", ".mpo",  ".safetensors"};
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(names.begin(), names.end(), extension) != names.end();
}

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw Error(ErrorKind::unreadable, "inputs", what + ": " + why);
}

void add_folder(const fs::path& folder, std::vector<fs::path>& paths) {
  std::vector<fs::path> found;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error) && has_medium_name(entry->path())) {
      found.push_back(entry->path());
    }
  }
  if (error) refuse(folder.string(), error.message());
  if (found.empty()) refuse(folder.string(), "the folder holds no picture, clip or dump");
  std::sort(found.begin(), found.end());
  paths.insert(paths.end(), found.begin(), found.end());
}

void add_glob(const std::string& pattern, std::vector<fs::path>& paths) {
  glob_t matches{};
  const int result = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &matches);
  for (std::size_t i = 0; result == 0 && i < matches.gl_pathc; ++i) {
    paths.emplace_back(matches.gl_pathv[i]);
  }
  ::globfree(&matches);
  if (result != 0) refuse(pattern, "no file matches");
}

void add_list(std::istream& list, const std::string& name, ListSeparator separator,
              std::vector<fs::path>& paths) {
  const std::size_t before = paths.size();
  std::string line;
  while (std::getline(list, line, separator == ListSeparator::nul ? '\0' : '\n')) {
    if (separator == ListSeparator::newline && line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (line.size() > longest_path || line.find('\0') != std::string::npos) {
      refuse(name,
             "is no list of paths; expected one path a line" +
                 std::string(separator == ListSeparator::newline ? " (or NULs with -0)" : ""));
    }
    paths.emplace_back(line);
  }
  if (paths.size() == before) refuse(name, "the list names no file");
}

}  // namespace

std::vector<fs::path> expand_inputs(const std::vector<std::string>& arguments,
                                    ListSeparator separator, std::istream& stdin_list) {
  if (arguments.empty()) throw Error(ErrorKind::usage, "inputs", "no INPUT was given");
  if (std::count(arguments.begin(), arguments.end(), "-") > 1) {
    throw Error(ErrorKind::usage, "inputs", "- (standard input) can be given once");
  }
  std::vector<fs::path> paths;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (argument == "-") {
      add_list(stdin_list, "standard input", separator, paths);
    } else if (fs::is_directory(argument, ignored)) {
      add_folder(argument, paths);
    } else if (fs::exists(argument, ignored)) {
      paths.emplace_back(argument);  // a file may have any of *?[@ in its name
    } else if (argument.starts_with('@')) {
      const std::string name = argument.substr(1);
      std::ifstream list(name, std::ios::binary);
      if (!list || fs::is_directory(name, ignored)) refuse(name, "the list cannot be read");
      add_list(list, name, separator, paths);
    } else if (argument.find_first_of("*?[") != std::string::npos) {
      add_glob(argument, paths);
    } else {
      paths.emplace_back(argument);  // its absence is reported as a failed item
    }
  }
  return paths;
}

}  // namespace vtower::cli
