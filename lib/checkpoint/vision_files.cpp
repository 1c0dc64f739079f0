#include "checkpoint/vision_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include "checkpoint/json_object.h"
#include "core/error.h"

namespace vtower {
namespace {

namespace fs = std::filesystem;

constexpr const char* context = "checkpoint";
constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";
constexpr std::array<std::string_view, 3> prefixes{"visual.", "model.visual.", "thinker.visual."};

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::checkpoint, context, message);
}

// "a, b, c and 4 more".
template <typename Names>
std::string some_of(const Names& names) {
  constexpr std::size_t shown = 5;
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (++count <= shown) text += (count > 1 ? ", " : "") + name;
  }
  return count > shown ? text + " and " + std::to_string(count - shown) + " more" : text;
}

std::optional<std::string_view> prefix_of(std::string_view name) {
  for (const std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) return prefix;
  }
  return std::nullopt;
}

std::set<std::string> weight_files(const fs::path& folder) {
  static const std::set<std::string> extensions{".safetensors", ".bin", ".pt",  ".pth",
                                                ".gguf",        ".h5",  ".ckpt"};
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (extensions.contains(entry.path().extension().string())) {
      names.insert(entry.path().filename().string());
    }
  }
  return names;
}

// Files that look like parts of a sharded checkpoint.
bool is_shard_name(const std::string& name) {
  static const std::regex pattern(R"(.*-\d+-of-\d+\.safetensors)");
  return std::regex_match(name, pattern);
}

class Gatherer {
 public:
  explicit Gatherer(const fs::path& folder) : folder_(folder) {}

  VisionFiles gather() {
    const bool single = fs::exists(folder_ / single_name);
    const bool index = fs::exists(folder_ / index_name);
    if (!single && !index) refuse_without_weights();
    if (index) {
      read_index(single);
    } else {
      add_file(single_name, nullptr);
    }
    choose_prefix();
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse_without_weights() const {
    const std::set<std::string> found = weight_files(folder_);
    const std::string expected =
        folder_.string() + ": expected " + single_name + " or " + index_name;
    if (found.empty()) fail(expected + ", the folder holds no weights");
    const bool sharded = std::any_of(found.begin(), found.end(), is_shard_name);
    fail(expected + ", found " + some_of(found) +
         (sharded ? "; the index of these shards is missing"
                  : "; vtower reads safetensors under these names only"));
  }

  void read_index(bool single) {
    const JsonObject index = JsonObject::read(folder_ / index_name, context);
    const JsonObject map = index.object("weight_map");
    std::map<std::string, std::set<std::string>> names_of_file;
    for (const std::string& name : map.keys()) {
      const std::string file = map.text(name);
      if (file.empty() || file.find('/') != std::string::npos || file == "..") {
        map.fail(name, "expected a file name, found \"" + file + "\"");
      }
      names_of_file[file].insert(name);
    }
    if (single && !names_of_file.contains(single_name)) {
      fail(folder_.string() + ": holds both " + single_name + " and an index of shards (" +
           some_of(files(names_of_file)) + "); remove the one that is out of date");
    }
    refuse_stale(names_of_file);
    for (const auto& [file, names] : names_of_file) {
      const bool needed = std::any_of(names.begin(), names.end(),
                                      [](const std::string& name) { return prefix_of(name); });
      if (needed) {
        open_needed(file, names);
      } else {
        look_into_unneeded(file);
      }
    }
  }

  static std::set<std::string> files(
      const std::map<std::string, std::set<std::string>>& names_of_file) {
    std::set<std::string> files;
    for (const auto& [file, names] : names_of_file) files.insert(file);
    return files;
  }

  void refuse_stale(const std::map<std::string, std::set<std::string>>& names_of_file) const {
    bool missing = false;
    for (const auto& [file, names] : names_of_file) missing |= !fs::exists(folder_ / file);
    std::set<std::string> strangers;
    std::set<std::string> present;
    for (const std::string& file : weight_files(folder_)) {
      if (!is_shard_name(file)) continue;
      present.insert(file);
      if (!names_of_file.contains(file)) strangers.insert(file);
    }
    if (missing && !strangers.empty()) {
      fail((folder_ / index_name).string() + ": stale index: it names " +
           some_of(files(names_of_file)) + ", the folder has " + some_of(present));
    }
  }

  void open_needed(const std::string& file, const std::set<std::string>& names) {
    if (!fs::exists(folder_ / file)) {
      std::set<std::string> vision;
      for (const std::string& name : names) {
        if (prefix_of(name)) vision.insert(name);
      }
      fail((folder_ / file).string() + ": this shard is missing; the index says that it holds " +
           some_of(vision));
    }
    add_file(file, &names);
  }

  // Its tensors are not ours, but vision tensors in it would mean that the index is wrong.
  void look_into_unneeded(const std::string& file) {
    if (!fs::exists(folder_ / file)) {
      result_.notes.push_back(file + " is missing; it holds no vision tensor");
      return;
    }
    std::optional<SafetensorsFile> opened;
    try {
      opened.emplace(folder_ / file, ErrorKind::checkpoint);
    } catch (const Error& error) {
      result_.notes.push_back("not needed and not read: " + error.message());
      return;
    }
    for (const auto& [name, view] : opened->tensors()) {
      if (prefix_of(name)) refuse_unlisted(file, name);
    }
  }

  [[noreturn]] void refuse_unlisted(const std::string& file, const std::string& name) const {
    fail((folder_ / index_name).string() + ": stale index: " + file + " holds " + name +
         ", which the index does not place there");
  }

  void add_file(const std::string& name, const std::set<std::string>* listed) {
    const auto file =
        std::make_shared<const SafetensorsFile>(folder_ / name, ErrorKind::checkpoint);
    for (const auto& [tensor, view] : file->tensors()) {
      const auto first = origin_.find(tensor);
      if (first != origin_.end() && prefix_of(tensor)) {
        fail(folder_.string() + ": tensor " + tensor + " lies in both " + first->second + " and " +
             name);
      }
      if (listed != nullptr && prefix_of(tensor) && !listed->contains(tensor)) {
        refuse_unlisted(name, tensor);
      }
      origin_.emplace(tensor, name);
      if (prefix_of(tensor)) found_.emplace(tensor, VisionTensor{view, file});
    }
    if (listed == nullptr) return;
    for (const std::string& tensor : *listed) {
      if (prefix_of(tensor) && file->find(tensor) == nullptr) {
        fail((folder_ / index_name).string() + ": stale index: it places " + tensor + " in " +
             name + ", which does not hold it");
      }
    }
  }

  void choose_prefix() {
    std::map<std::string, std::string> example_of_prefix;
    for (const auto& [name, tensor] : found_) {
      example_of_prefix.emplace(*prefix_of(name), name);
    }
    if (example_of_prefix.empty()) {
      std::set<std::string> names;
      for (const auto& [name, file] : origin_) names.insert(name);
      fail(folder_.string() +
           ": no tensor has a name that begins with visual., model.visual. or "
           "thinker.visual.; found " +
           (names.empty() ? "no tensor at all" : some_of(names)));
    }
    if (example_of_prefix.size() > 1) {
      std::set<std::string> examples;
      for (const auto& [prefix, name] : example_of_prefix) examples.insert(name);
      fail(folder_.string() + ": vision tensors under several prefixes: " + some_of(examples) +
           "; were two checkpoints mixed?");
    }
    result_.prefix = example_of_prefix.begin()->first;
    for (auto& [name, tensor] : found_) {
      result_.tensors.emplace(name.substr(result_.prefix.size()), std::move(tensor));
    }
  }

  const fs::path& folder_;
  VisionFiles result_;
  std::map<std::string, VisionTensor> found_;
  std::map<std::string, std::string> origin_;  // file of every tensor in the opened files
};

}  // namespace

VisionFiles open_vision_files(const fs::path& folder) {
  return Gatherer(folder).gather();
}

}  // namespace vtower
