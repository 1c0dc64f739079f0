#include "cli/diff_pixels.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "check/lattice.h"
#include "cli/file_source.h"
#include "cli/inputs.h"
#include "cli/inspect_pixels.h"
#include "core/error.h"
#include "core/json_strict.h"
#include "core/npy.h"
#include "core/raw_patch_dump.h"
#include "core/safetensors.h"

namespace vtower::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::unreadable, "pixels", path.string() + ": " + what);
}

std::vector<GridThw> grids_of(const fs::path& path, std::span<const std::uint8_t> bytes,
                              const std::vector<std::int64_t>& shape) {
  if (shape.size() != 2 || shape[1] != 3) refuse(path, "its grid_thw is not [n, 3]");
  std::vector<GridThw> grids(static_cast<std::size_t>(shape[0]));
  for (std::size_t i = 0; i < grids.size(); ++i) {
    std::int64_t row[3];
    std::memcpy(row, bytes.data() + i * sizeof(row), sizeof(row));
    grids[i] = {row[0], row[1], row[2]};
  }
  return grids;
}

// Bytes of float pixels by lattice fit.
RawPatches recovered(const fs::path& path, const std::string& name, const PixelArray& pixels,
                     std::vector<GridThw> grids, const Checkpoint& checkpoint,
                     std::vector<std::string>& notes) {
  const NormConstants& norm = checkpoint.preprocessor().norm;
  std::vector<LatticeConstants> constants{
      {"the checkpoint's", norm.mean(), norm.std(), norm.rescale_factor()}};
  for (LatticeConstants& known : known_constants()) constants.push_back(std::move(known));
  const PatchLayout& layout = checkpoint.vision().layout;
  const std::vector<float> values = values_of(pixels);
  const LatticeFit fit = fit_lattice(values, layout, pixels.dtype, constants);
  notes.push_back(name + ": " + describe(fit));
  if (fit.matches.empty()) {
    throw Error(ErrorKind::not_comparable, "pixels",
                path.string() + ": " + name + ": " + describe(fit) +
                    "; the bytes cannot be told from them");
  }
  RecoveredBytes bytes = recover_bytes(values, layout, fit.matches.front().hypothesis);
  if (bytes.ambiguous_values > 0) {
    notes.push_back(name + ": " + std::to_string(bytes.ambiguous_values) +
                    " values stand for several bytes each, the lowest was taken");
  }
  return RawPatches::from_rows(std::move(bytes.lowest), std::move(grids), layout);
}

bool is_json(const fs::path& path) {
  return path.extension() == ".json";
}

bool is_array_file(const fs::path& path) {
  return path.extension() == ".safetensors" || path.extension() == ".npz" ||
         path.extension() == ".npy";
}

std::optional<RawPatches> from_safetensors(const fs::path& path, const Checkpoint& checkpoint,
                                           std::vector<std::string>& notes) {
  const SafetensorsFile file(path, ErrorKind::unreadable);
  for (const auto& [name, view] : file.tensors()) {
    if (!looks_like_pixels(name, view.dtype, view.shape) || view.dtype == DType::u8) continue;
    for (const std::string grid : {"grid_thw", "image_grid_thw", "video_grid_thw"}) {
      const TensorView* found = file.find(grid);
      if (found == nullptr || found->dtype != DType::i64) continue;
      return recovered(path, name, {view.dtype.value(), view.shape, view.bytes},
                       grids_of(path, found->bytes, found->shape), checkpoint, notes);
    }
    refuse(path, "has " + name + " and no int64 grid_thw or image_grid_thw that says its items");
  }
  return std::nullopt;
}

std::optional<RawPatches> from_npz(const fs::path& path, const Checkpoint& checkpoint,
                                   std::vector<std::string>& notes) {
  const std::map<std::string, NpyArray> arrays = read_npz(path);
  for (const auto& [name, array] : arrays) {
    if (!looks_like_pixels(name, array.dtype, array.shape)) continue;
    for (const std::string grid : {"grid_thw", "image_grid_thw", "video_grid_thw"}) {
      const auto found = arrays.find(grid);
      if (found == arrays.end() || found->second.dtype != DType::i64) continue;
      std::vector<GridThw> grids = grids_of(path, found->second.bytes.span(), found->second.shape);
      return recovered(path, name, {array.dtype, array.shape, array.bytes.span()}, std::move(grids),
                       checkpoint, notes);
    }
    refuse(path, "has " + name + " and no int64 grid_thw or image_grid_thw that says its items");
  }
  return std::nullopt;
}

// Items of one file that holds arrays.
void add_arrays(DiffPixels& pixels, const fs::path& path, const Checkpoint& checkpoint) {
  std::optional<RawPatches> rows;
  if (is_raw_patch_dump(path)) {
    rows = read_raw_patch_dump(path, checkpoint.vision().layout);
  } else if (path.extension() == ".npz") {
    rows = from_npz(path, checkpoint, pixels.notes);
  } else if (path.extension() == ".safetensors") {
    rows = from_safetensors(path, checkpoint, pixels.notes);
  }
  if (!rows) {
    refuse(path, "expected uint8 `pixels` or floating point `pixel_values` [N, K], with grid_thw");
  }
  const auto shared = std::make_shared<const RawPatches>(std::move(*rows));
  for (std::size_t i = 0; i < shared->grids().size(); ++i) {
    pixels.items.push_back({std::nullopt, path.filename().string() + "#" + std::to_string(i),
                            [shared, i] { return shared->slice(i, 1); }});
  }
}

void add_media(DiffPixels& pixels, const fs::path& path, const Checkpoint& checkpoint) {
  const PixelSpec spec = checkpoint.preprocessor().pixels;
  pixels.items.push_back({std::nullopt, path.string(),
                          [path, spec] {
                            auto loaded = FileSource({path}, spec, {}, 1).load(0);
                            if (auto* failure = std::get_if<ItemFailure>(&loaded)) {
                              throw Error(failure->kind, "pixels",
                                          failure->path + ": " + failure->message);
                            }
                            return std::move(std::get<LoadedItem>(loaded).patches);
                          },
                          explain::MediaSource{path, spec, {}}});
}

void add_path(DiffPixels& pixels, const fs::path& path, const Checkpoint& checkpoint) {
  if (!fs::exists(path)) refuse(path, "no such file");
  if (is_array_file(path)) {
    add_arrays(pixels, path, checkpoint);
    return;
  }
  std::ifstream nothing;
  for (const fs::path& file : expand_inputs({path.string()}, ListSeparator::newline, nothing)) {
    add_media(pixels, file, checkpoint);
  }
}

// "cases/batch.safetensors#1": file and item.
std::pair<std::string, std::optional<std::size_t>> file_and_item(const std::string& text) {
  const std::size_t at = text.rfind('#');
  if (at == std::string::npos) return {text, std::nullopt};
  std::size_t item = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + at + 1, end, item);
  if (error != std::errc() || stop != end) return {text, std::nullopt};
  return {text.substr(0, at), item};
}

void add_map(DiffPixels& pixels, const fs::path& path, const Checkpoint& checkpoint) {
  std::ifstream file(path);
  if (!file) refuse(path, "cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const nlohmann::json map =
      parse_json_strictly(text, path.string(), "pixels", ErrorKind::unreadable);
  std::map<std::string, DiffPixels> opened;  // each file once
  for (const auto& [key, value] : map.items()) {
    if (!value.is_string()) refuse(path, key + ": expected the name of a file");
    const auto [name, item] = file_and_item(value.get<std::string>());
    const fs::path target =
        fs::path(name).is_absolute() ? fs::path(name) : path.parent_path() / name;
    auto found = opened.find(target.string());
    if (found == opened.end()) {
      DiffPixels one;
      add_path(one, target, checkpoint);
      for (const std::string& note : one.notes) pixels.notes.push_back(note);
      found = opened.emplace(target.string(), std::move(one)).first;
    }
    const std::vector<PixelItem>& items = found->second.items;
    if (!item && items.size() != 1) {
      refuse(path, key + ": " + name + " holds " + std::to_string(items.size()) +
                       " items; say which by " + name + "#0");
    }
    if (item.value_or(0) >= items.size()) {
      refuse(path, key + ": item " + std::to_string(*item) + " of " + name + ", which holds " +
                       std::to_string(items.size()));
    }
    const PixelItem& one = items[item.value_or(0)];
    pixels.items.push_back({key, key, one.load, one.media});
  }
}

}  // namespace

DiffPixels read_diff_pixels(const fs::path& path, const Checkpoint& checkpoint) {
  DiffPixels pixels;
  if (is_json(path)) {
    add_map(pixels, path, checkpoint);
  } else {
    add_path(pixels, path, checkpoint);
  }
  if (pixels.items.empty()) refuse(path, "holds no item");
  return pixels;
}

}  // namespace vtower::cli
