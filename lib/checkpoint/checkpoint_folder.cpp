#include "checkpoint/checkpoint_folder.h"

#include <set>
#include <string>

#include "core/error.h"
#include "core/file.h"

namespace vtower {
namespace {

namespace fs = std::filesystem;

constexpr const char* reads = "vtower reads a Hugging Face folder with config.json and safetensors";

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::checkpoint, "checkpoint", path.string() + ": " + what);
}

[[noreturn]] void refuse_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".gguf") fail(path, std::string("is a GGUF file; ") + reads);
  if (extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".ckpt") {
    fail(path, std::string("is a pickled PyTorch file; ") + reads);
  }
  if (extension == ".safetensors" || extension == ".json") {
    fail(path, "is a file; name the folder that holds it");
  }
  fail(path, std::string("is a file; ") + reads);
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

std::string main_revision(const fs::path& reference) {
  const MappedFile file(reference);
  std::string revision(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  while (!revision.empty() && std::isspace(static_cast<unsigned char>(revision.back()))) {
    revision.pop_back();
  }
  if (revision.empty() || revision.size() > 200 || revision.find('/') != std::string::npos ||
      revision == "..") {
    fail(reference, "expected the name of a snapshot");
  }
  return revision;
}

fs::path snapshot_of(const fs::path& cache) {
  const fs::path reference = cache / "refs" / "main";
  if (fs::exists(reference)) {
    const fs::path snapshot = cache / "snapshots" / main_revision(reference);
    if (!fs::is_directory(snapshot)) fail(snapshot, "refs/main names this snapshot, it is absent");
    return snapshot;
  }
  const std::set<std::string> snapshots = names_in(cache / "snapshots");
  if (snapshots.size() == 1) return cache / "snapshots" / *snapshots.begin();
  std::string names;
  for (const std::string& name : snapshots) names += " " + name;
  fail(cache, "expected refs/main or exactly one snapshot, found " +
                  std::to_string(snapshots.size()) + (names.empty() ? "" : ":" + names) +
                  "; name the folder of one snapshot");
}

[[noreturn]] void refuse_without_config(const fs::path& folder) {
  const std::set<std::string> names = names_in(folder);
  std::string found;
  for (const std::string& name : names) {
    const std::string extension = fs::path(name).extension().string();
    if (name == "adapter_config.json") {
      fail(folder,
           "holds an adapter (adapter_config.json), not a model; merge it into its base "
           "model first");
    }
    if (name.starts_with("models--")) {
      fail(folder, "is a whole hub cache; name one of its folders, such as " + name);
    }
    if (extension == ".gguf" || extension == ".bin" || extension == ".pt" || extension == ".pth" ||
        extension == ".safetensors") {
      found += (found.empty() ? "" : ", ") + name;
    }
  }
  fail(folder,
       "has no config.json" + (found.empty() ? std::string() : ", found " + found) + "; " + reads);
}

}  // namespace

fs::path find_checkpoint_folder(const fs::path& path) try {
  if (!fs::exists(path)) fail(path, "no such folder");
  if (!fs::is_directory(path)) refuse_file(path);
  const fs::path folder = !fs::exists(path / "config.json") && fs::is_directory(path / "snapshots")
                              ? snapshot_of(path)
                              : path;
  if (!fs::exists(folder / "config.json")) refuse_without_config(folder);
  return folder;
} catch (const fs::filesystem_error& error) {
  fail(path, error.code().message());
} catch (const Error& error) {
  throw Error(ErrorKind::checkpoint, "checkpoint", error.message());
}

}  // namespace vtower
