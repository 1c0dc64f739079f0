#include "check/dump.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "check/dump_boundaries.h"
#include "check/dump_byte_order.h"
#include "check/dump_choice.h"
#include "check/dump_format.h"
#include "check/dump_record.h"
#include "check/dump_source.h"

namespace vtower {
namespace {

constexpr std::string_view connector_file = "encoder_cache.safetensors";

[[noreturn]] void refuse(const std::filesystem::path& path, ErrorKind kind,
                         const std::string& what) {
  throw Error(kind, "dump", path.string() + ": " + what);
}

DumpSource open_source(const std::filesystem::path& path) {
  switch (dump_format(path)) {
    case DumpFormat::safetensors: return open_safetensors_source(path);
    case DumpFormat::npy: return open_npy_source(path);
    case DumpFormat::npz: return open_npz_source(path);
    case DumpFormat::pytorch:
      refuse(path, ErrorKind::unsupported,
             "a PyTorch file, which is not read here since reading one can run code; "
             "scripts/convert_pt.py turns it into safetensors");
    case DumpFormat::mtmd:
      refuse(path, ErrorKind::unsupported,
             "embeddings of llama.cpp's mtmd; scripts/convert_mtmd.py turns them into safetensors");
    case DumpFormat::unknown: break;
  }
  refuse(path, ErrorKind::unsupported, "is none of .safetensors, .npy and .npz by name or content");
}

// Folders of a connector, by name: HASH/encoder_cache.safetensors.
std::vector<std::filesystem::path> connector_folders(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) refuse(folder, ErrorKind::unreadable, error.message());
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    std::error_code absent;
    if (std::filesystem::exists(entries->path() / connector_file, absent)) {
      found.push_back(entries->path());
    }
    if (error) break;
  }
  if (error) refuse(folder, ErrorKind::unreadable, error.message());
  std::sort(found.begin(), found.end());
  return found;
}

// The last part of a path, also of "a/b/" and ".".
std::string folder_name(const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, ignored);
  return (whole.empty() ? folder : whole).filename().string();
}

}  // namespace

class DumpReader {
 public:
  explicit DumpReader(const DumpOptions& options) : options_(options) {}

  Dump read_file(const std::filesystem::path& path) {
    dump_.path_ = path;
    read(open_source(path), std::nullopt);
    return finish();
  }

  Dump read_folder(const std::filesystem::path& folder) {
    dump_.path_ = folder;
    std::vector<std::filesystem::path> folders = connector_folders(folder);
    std::error_code ignored;
    if (std::filesystem::exists(folder / connector_file, ignored)) folders = {folder};
    if (folders.empty()) {
      refuse(folder, ErrorKind::unreadable,
             "a folder without any HASH/" + std::string(connector_file) +
                 "; expected a dump or the folder of an encoder-cache connector");
    }
    for (const std::filesystem::path& item : folders) {
      read(open_safetensors_source(item / connector_file), folder_name(item));
    }
    return finish();
  }

 private:
  void note(const std::string& text) {
    if (std::find(dump_.notes_.begin(), dump_.notes_.end(), text) == dump_.notes_.end()) {
      dump_.notes_.push_back(text);
    }
  }

  Dump finish() {
    for (std::size_t i = 0; i < dump_.items_.size(); ++i) {
      dump_.places_.emplace(dump_.items_[i].key, i);
    }
    return std::move(dump_);
  }

  // All items of one file; `key` where the file is one item of a folder.
  void read(const DumpSource& source, const std::optional<std::string>& key) {
    DumpRecord record = read_dump_record(source);
    const Origin origin = record.json.is_null() ? Origin::foreign : Origin::ours;
    const DumpChoice choice = choose_tensors(source, origin, options_);
    for (const std::string& text : choice.notes) note(text);

    std::vector<TokenRows> parts;
    RowLayout layout{
        choice.names.front(), 0, {}, choice.unit, record.merge_size.value_or(options_.merge_size)};
    for (const std::string& name : choice.names) {
      parts.push_back(to_token_rows(source, name));
      layout.rows += parts.back().rows;
      if (choice.names.size() > 1) layout.parts.push_back(parts.back().rows);
    }
    const Boundaries boundaries = find_boundaries(source, layout);
    if (boundaries.assumed && !key) {
      note("no cu_tokens, cu_seqlens_tokens or grid_thw: taken as one item");
    }
    const std::vector<TokenRows> levels = deepstack(source, choice, layout.rows);
    if (const auto remark = byte_order_remark(parts)) {
      note((key ? *key : choice.names.front()) + ": " + *remark);
    }

    const std::size_t first = dump_.items_.size();
    for (std::size_t i = 0; i + 1 < boundaries.cu.size(); ++i) {
      const std::int64_t begin = boundaries.cu[i];
      const std::int64_t count = boundaries.cu[i + 1] - begin;
      DumpItem item;
      item.embeddings = layout.parts.empty() ? parts.front().slice(begin, count) : parts[i];
      for (const TokenRows& level : levels) item.deepstack.push_back(level.slice(begin, count));
      if (!boundaries.grids.empty()) item.grid = boundaries.grids[i];
      if (choice.stage == "embeddings") split_levels(item);
      item.key = key ? *key : "#" + std::to_string(first + i);
      dump_.items_.push_back(std::move(item));
    }
    if (key) dump_.has_keys_ = true;
    take_record(source, std::move(record));
    dump_.stage_ = choice.stage;
    dump_.owners_.push_back(source.owner);
  }

  std::vector<TokenRows> deepstack(const DumpSource& source, const DumpChoice& choice,
                                   std::int64_t rows) {
    std::vector<TokenRows> levels;
    for (const std::string& name : choice.deepstack) {
      levels.push_back(to_token_rows(source, name));
      if (levels.back().rows != rows) {
        source.fail(ErrorKind::out_of_range, name + " has " + std::to_string(levels.back().rows) +
                                                 " rows, " + choice.names.front() + " has " +
                                                 std::to_string(rows));
      }
      const TensorView& main = *source.find(choice.names.front());
      const TensorView& level = *source.find(name);
      if (level.dtype != main.dtype) {
        note(name + " is " + level.dtype_name + ", " + choice.names.front() + " is " +
             main.dtype_name);
      }
    }
    return levels;
  }

  // Rows of out * (1 + levels) values are the embeddings and their deepstack side by side.
  void split_levels(DumpItem& item) {
    if (!options_.out_width) return;
    const std::int64_t out = *options_.out_width;
    const std::int64_t width = item.embeddings.width;
    const std::int64_t levels = options_.deepstack_levels;
    const bool joined = levels > 0 && width % (1 + levels) == 0 && width / (1 + levels) == out;
    if (joined && item.deepstack.empty()) {
      const TokenRows whole = item.embeddings;
      item.embeddings = whole.columns(0, out);
      for (std::int64_t level = 1; level <= levels; ++level) {
        item.deepstack.push_back(whole.columns(level * out, out));
      }
    } else if (width != out) {
      note("rows have " + std::to_string(width) + " values, expected " + std::to_string(out) +
           (levels > 0 ? " or, with " + std::to_string(levels) + " deepstack levels, " +
                             std::to_string(out * (1 + levels))
                       : "") +
           ": from another checkpoint?");
    } else if (item.deepstack.empty() && levels > 0) {
      note("no deepstack levels in it");
    }
  }

  void take_record(const DumpSource& source, DumpRecord record) {
    if (record.items.empty()) {
      dump_.record_ = std::move(record.json);
      return;
    }
    if (record.items.size() != dump_.items_.size()) {
      source.fail(ErrorKind::out_of_range,
                  "the record lists " + std::to_string(record.items.size()) +
                      " items, the tensors hold " + std::to_string(dump_.items_.size()));
    }
    const std::vector<std::string> keys = item_keys(record.items);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      DumpItem& item = dump_.items_[i];
      const DumpRecordItem& said = record.items[i];
      if (said.grid && item.grid && *said.grid != *item.grid) {
        source.fail(ErrorKind::out_of_range,
                    "grid_thw of item " + std::to_string(i) + " differs between record and tensor");
      }
      if (!item.grid) item.grid = said.grid;
      item.key = keys[i];
      item.path = said.path;
      item.input_sha256 = said.sha256;
    }
    dump_.record_ = std::move(record.json);
    dump_.has_keys_ = true;
  }

  const DumpOptions& options_;
  Dump dump_;
};

Dump Dump::open(const std::filesystem::path& path, const DumpOptions& options) {
  std::error_code ignored;
  DumpReader reader(options);
  return std::filesystem::is_directory(path, ignored) ? reader.read_folder(path)
                                                      : reader.read_file(path);
}

const DumpItem* Dump::find(const std::string& key) const noexcept {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &items_[found->second];
}

DType Dump::dtype() const noexcept {
  return items_.empty() ? DType::f32 : items_.front().embeddings.dtype;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error) && !error) return true;
  return a.lexically_normal() == b.lexically_normal();
}

}  // namespace vtower
