#include "cli/inspect_file.h"

#include "cli/dump_record.h"
#include "cli/inspect_pixels.h"
#include "core/npy.h"
#include "core/safetensors.h"
#include "media/media_item.h"

namespace vtower::cli {
namespace {

Json inspect_safetensors(const SafetensorsFile& file, const std::optional<Checkpoint>& checkpoint,
                         const Terminal& terminal) {
  const Json record = record_of(file);
  terminal.say("dump " + file.path().string());
  Json tensors = Json::object();
  Json pixels = Json::object();
  for (const auto& [name, view] : file.tensors()) {
    terminal.say("  " + name + "  " + view.dtype_name + " " + shape_text(view.shape));
    tensors[name] = {{"dtype", view.dtype_name}, {"shape", view.shape}};
  }
  print_record(record, terminal);
  for (const auto& [name, view] : file.tensors()) {
    if (!looks_like_pixels(name, view.dtype, view.shape)) continue;
    pixels[name] =
        inspect_pixels(name, {view.dtype.value(), view.shape, view.bytes}, checkpoint, terminal);
  }
  return {{"kind", "dump"},
          {"path", file.path().string()},
          {"tensors", std::move(tensors)},
          {"pixels", std::move(pixels)},
          {"vtower", record}};
}

Json inspect_arrays(const std::filesystem::path& path, std::map<std::string, NpyArray> arrays,
                    const std::optional<Checkpoint>& checkpoint, const Terminal& terminal) {
  terminal.say("arrays " + path.string());
  Json tensors = Json::object();
  Json pixels = Json::object();
  for (const auto& [name, array] : arrays) {
    terminal.say("  " + name + "  " + array.descr + " " + shape_text(array.shape));
    tensors[name] = {{"dtype", to_string(array.dtype)}, {"shape", array.shape}};
    if (!looks_like_pixels(name, array.dtype, array.shape) && arrays.size() > 1) continue;
    if (array.shape.size() != 2) continue;
    pixels[name] =
        inspect_pixels(name, {array.dtype, array.shape, array.bytes.span()}, checkpoint, terminal);
  }
  return {{"kind", "arrays"},
          {"path", path.string()},
          {"tensors", std::move(tensors)},
          {"pixels", std::move(pixels)}};
}

Json inspect_medium(const std::filesystem::path& path, const std::optional<Checkpoint>& checkpoint,
                    const MediaArguments& media, const Terminal& terminal) {
  if (!checkpoint) {
    throw Error(ErrorKind::usage, "inspect",
                path.string() +
                    ": what is done with a picture or clip depends on the checkpoint; "
                    "give --checkpoint");
  }
  const PixelSpec spec = media.apply_to(checkpoint->preprocessor().pixels);
  const LoadedItem item = MediaItem::open(path, spec, media.options)->load();
  const GridThw& grid = item.patches.grids().front();
  Json entry = item_json(item.record);
  entry["grid_thw"] = {grid.t, grid.h, grid.w};
  entry["tokens"] = grid.tokens(spec.layout.merge_size);

  const auto size = [](ImageSize s) {
    return std::to_string(s.width) + "x" + std::to_string(s.height);
  };
  const ItemRecord& record = item.record;
  terminal.say(std::string(to_string(record.kind)) + " " + path.string());
  terminal.say("  " + record.format + ", stored " + size(record.stored) + ", decoded " +
               size(record.decoded) + ", resized " + size(record.resized) + " (width x height)");
  if (record.orientation) {
    terminal.say("  orientation " + std::to_string(*record.orientation) +
                 (record.orientation_applied ? ", applied" : ", not applied"));
  }
  if (record.video) {
    const VideoRecord& video = *record.video;
    terminal.say("  " + std::to_string(video.frame_count) + " frames at " +
                 (video.fps ? std::to_string(*video.fps) + " per second (" + video.fps_origin + ")"
                            : "an unknown rate") +
                 ", rule " + video.rule);
    std::string frames;
    for (const SampledFrame& frame : video.frames) frames += " " + std::to_string(frame.index);
    terminal.say("  frames" + frames);
  }
  terminal.say("  grid_thw " + entry["grid_thw"].dump() + ", " + std::to_string(grid.patches()) +
               " patches, " + entry["tokens"].dump() + " tokens");
  for (const std::string& note : record.notes) terminal.say("  note: " + note);
  return {{"kind", to_string(record.kind)}, {"path", path.string()}, {"item", std::move(entry)}};
}

// The first bytes decide: a zip is .npz, "\x93NUMPY" is .npy, a sound header is safetensors.
enum class FileKind { safetensors, npy, npz, medium };

FileKind kind_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 9));
  if (start.starts_with("\x93NUMPY")) return FileKind::npy;
  if (start.starts_with("PK\x03\x04")) return FileKind::npz;
  if (path.extension() == ".safetensors" || (start.size() == 9 && start[8] == '{')) {
    return FileKind::safetensors;
  }
  return FileKind::medium;
}

}  // namespace

Json inspect_file(const std::filesystem::path& path, const std::optional<Checkpoint>& checkpoint,
                  const MediaArguments& media, const Terminal& terminal) {
  switch (kind_of(path)) {
    case FileKind::safetensors:
      return inspect_safetensors(SafetensorsFile(path, ErrorKind::unreadable), checkpoint,
                                 terminal);
    case FileKind::npy: {
      std::map<std::string, NpyArray> arrays;
      arrays.emplace(path.stem().string(), read_npy(path));
      return inspect_arrays(path, std::move(arrays), checkpoint, terminal);
    }
    case FileKind::npz: return inspect_arrays(path, read_npz(path), checkpoint, terminal);
    case FileKind::medium: break;
  }
  return inspect_medium(path, checkpoint, media, terminal);
}

}  // namespace vtower::cli
