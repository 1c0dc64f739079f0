// The files of a command line as the items of a run.
#pragma once

#include <filesystem>
#include <vector>

#include "core/item.h"
#include "core/pixel_spec.h"
#include "explain/media_faults.h"
#include "media/media_options.h"

namespace vtower::cli {

// Pictures, clips and dumps of raw patches (each grid of a dump is an item of its own). What kind
// a file is shows in its bytes. Immutable, thread-safe.
class FileSource final : public ItemSource {
 public:
  // Few items share `threads` among them: a clip alone is decoded by all.
  FileSource(const std::vector<std::filesystem::path>& paths, const PixelSpec& spec,
             const MediaOptions& options, int threads);

  [[nodiscard]] std::size_t size() const override { return entries_.size(); }
  [[nodiscard]] const std::filesystem::path& path(std::size_t i) const { return entries_[i].path; }
  // The picture or clip of an item, and how it is read; empty for items of a dump.
  [[nodiscard]] std::optional<explain::MediaSource> media(std::size_t i) const {
    if (entries_[i].dump) return std::nullopt;
    return explain::MediaSource{entries_[i].path, spec_, options_};
  }
  [[nodiscard]] std::variant<ItemHeader, ItemFailure> header(std::size_t i) const override;
  [[nodiscard]] std::variant<LoadedItem, ItemFailure> load(std::size_t i) const override;

 private:
  struct Entry {
    std::filesystem::path path;
    std::shared_ptr<const RawPatches> dump;  // set for items of a dump
    std::size_t index_in_dump = 0;
    std::optional<ItemFailure> failure;  // of a dump that cannot be read
  };
  void add_dump(const std::filesystem::path& path);

  PixelSpec spec_;
  MediaOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace vtower::cli
