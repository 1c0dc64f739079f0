// Embeddings in files, ours or another tool's, as items with token rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/token_rows.h"
#include "core/grid_thw.h"

namespace vtower {

struct DumpItem {
  std::string key;  // file name of a record's path, hash of a connector folder, or "#3"
  std::optional<GridThw> grid;
  TokenRows embeddings;
  std::vector<TokenRows> deepstack;
  std::string input_sha256;  // of the input's bytes, where the record has it
  std::string path;          // of the input, where the record has it
};

struct DumpOptions {
  std::string map;  // tensor to take as embeddings; empty: the first known name
  // Stage to take ("block.3", "deepstack.0"; "merger" is "embeddings"): the tensor of that name, or
  // what the known tensor is where neither a record nor the header's `stage` says it. Empty: final
  // embeddings.
  std::string stage;
  std::int64_t merge_size = 2;  // tokens of a grid where no record gives it
  // Width of a token and deepstack levels where known (from a checkpoint): a tensor of
  // out * (1 + levels) columns is split into embeddings and deepstack.
  std::optional<std::int64_t> out_width = std::nullopt;
  std::int64_t deepstack_levels = 0;
};

// What the file says of itself and what had to be assumed.
class Dump {
 public:
  // .safetensors, .npy, .npz, or a folder of an encoder-cache connector
  // (HASH/encoder_cache.safetensors, tensor ec_cache). Throws Error: unreadable, truncated,
  // unsupported (".pt": names the script that converts it), out_of_range (boundaries that do not
  // fit the rows), not_comparable (a stage or tensor asked for that is not there).
  static Dump open(const std::filesystem::path& path, const DumpOptions& options);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::vector<DumpItem>& items() const noexcept { return items_; }
  [[nodiscard]] const DumpItem* find(const std::string& key) const noexcept;
  // The vtower record; null for a foreign dump.
  [[nodiscard]] const nlohmann::ordered_json& record() const noexcept { return record_; }
  [[nodiscard]] const std::string& stage() const noexcept { return stage_; }
  // Items have names of their own: connector hashes, or paths of a record or of scripts/dump_hf.py.
  // Otherwise they are matched by their place.
  [[nodiscard]] bool has_keys() const noexcept { return has_keys_; }
  // "no vtower record: taken as final embeddings", "one item assumed", ...
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  // Of the embeddings of the first item; f32 where there is none.
  [[nodiscard]] DType dtype() const noexcept;

 private:
  friend class DumpReader;
  std::filesystem::path path_;
  std::vector<DumpItem> items_;
  std::map<std::string, std::size_t> places_;  // in items_, by key
  nlohmann::ordered_json record_;
  std::string stage_ = "embeddings";
  bool has_keys_ = false;
  std::vector<std::string> notes_;
  std::vector<std::shared_ptr<const void>> owners_;  // mapped files and arrays behind the spans
};

// Whether both name the same file or folder (path, device and inode).
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace vtower
