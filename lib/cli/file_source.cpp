#include "cli/file_source.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "core/digest.h"
#include "core/file.h"
#include "core/raw_patch_dump.h"
#include "media/media_item.h"

namespace vtower::cli {
namespace {

ItemFailure failure_of(const std::filesystem::path& path, const Error& error) {
  return {path.string(), error.kind(), error.what()};
}

// Turns what a loader throws into the item's own failure.
template <typename Result, typename Call>
std::variant<Result, ItemFailure> attempt(const std::filesystem::path& path, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    return failure_of(path, error);
  } catch (const std::bad_alloc&) {
    return ItemFailure{path.string(), ErrorKind::memory, "[file_source] out of memory"};
  }
}

}  // namespace

FileSource::FileSource(const std::vector<std::filesystem::path>& paths, const PixelSpec& spec,
                       const MediaOptions& options, int threads)
    : spec_(spec), options_(options) {
  const int together = static_cast<int>(std::clamp<std::size_t>(paths.size(), 1, 1024));
  options_.decode_threads = std::max(1, threads / together);
  for (const std::filesystem::path& path : paths) {
    if (path.extension() == ".safetensors" || is_raw_patch_dump(path)) {
      add_dump(path);
    } else {
      entries_.push_back({path, nullptr, 0, std::nullopt});
    }
  }
}

void FileSource::add_dump(const std::filesystem::path& path) {
  try {
    auto dump = std::make_shared<const RawPatches>(read_raw_patch_dump(path, spec_.layout));
    for (std::size_t i = 0; i < dump->grids().size(); ++i) {
      entries_.push_back({path, dump, i, std::nullopt});
    }
    if (dump->grids().empty()) {
      throw Error(ErrorKind::unreadable, "raw_patch_dump", path.string() + ": holds no item");
    }
  } catch (const Error& error) {
    entries_.push_back({path, nullptr, 0, failure_of(path, error)});
  }
}

std::variant<ItemHeader, ItemFailure> FileSource::header(std::size_t i) const {
  const Entry& entry = entries_[i];
  if (entry.failure) return *entry.failure;
  if (entry.dump) return ItemHeader{ItemKind::raw, entry.dump->grids()[entry.index_in_dump]};
  return attempt<ItemHeader>(
      entry.path, [&] { return MediaItem::open(entry.path, spec_, options_)->header(); });
}

std::variant<LoadedItem, ItemFailure> FileSource::load(std::size_t i) const {
  const Entry& entry = entries_[i];
  if (entry.failure) return *entry.failure;
  if (!entry.dump) {
    return attempt<LoadedItem>(
        entry.path, [&] { return MediaItem::open(entry.path, spec_, options_)->load(); });
  }
  return attempt<LoadedItem>(entry.path, [&] {
    ItemRecord record;
    record.kind = ItemKind::raw;
    record.path = entry.path.string();
    record.format = "raw patches";
    record.sha256 = sha256_hex(MappedFile(entry.path).bytes());
    record.notes.push_back("item " + std::to_string(entry.index_in_dump) +
                           " of a dump; its rows are taken to be in merge order");
    return LoadedItem{entry.dump->slice(entry.index_in_dump, 1), std::move(record)};
  });
}

}  // namespace vtower::cli
