// One input of a run: what its header promises, what it became, or why it failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/frame.h"
#include "core/grid_thw.h"
#include "core/raw_patches.h"

namespace vtower {

enum class ItemKind { image, video, raw };  // raw: rows from a dump of patches

std::string_view to_string(ItemKind kind) noexcept;

// One frame taken from a clip.
struct SampledFrame {
  std::int64_t index = 0;                   // position in presentation order, from 0
  double seconds = 0.0;                     // presentation time, from the first frame
  std::string sha256;                       // of the decoded [H, W, 3] bytes, after rotation
  std::optional<std::int64_t> replaced_by;  // the clean frame taken for a corrupt one
};

struct VideoRecord {
  std::int64_t frame_count = 0;                    // counted in the stream
  std::optional<std::int64_t> header_frame_count;  // as the container claims
  std::optional<double> fps;                       // the rate the rule was given
  std::string fps_origin;                          // "container", "timestamps", "assumed", ...
  std::optional<double> sampled_fps;               // frames taken / frames there * fps
  std::string rule;                                // sampling rule and its arguments
  std::optional<std::int64_t> frames_asked;        // where the request had to be clamped
  double start_seconds = 0.0;                      // of the first frame, in the container's time
  std::int64_t rotation_degrees = 0;               // clockwise, applied
  std::string pixel_format;
  std::string colour;  // matrix, range and transfer as tagged
  std::vector<SampledFrame> frames;
};

// Everything a reader of the output needs to know how the pixels came about.
struct ItemRecord {
  ItemKind kind = ItemKind::image;
  std::string path;
  std::string format;                       // "jpeg", "png", "mov,mp4", ...
  std::string sha256;                       // of the file's bytes
  ImageSize stored;                         // as stored in the file
  std::optional<std::int64_t> orientation;  // EXIF/XMP/TIFF value found, 1..8
  bool orientation_applied = false;
  ImageSize decoded;  // after orientation
  ImageSize resized;
  std::vector<std::string> notes;  // policies that applied: "ICC profile ignored", ...
  std::optional<VideoRecord> video;
};

struct LoadedItem {
  RawPatches patches;
  ItemRecord record;
};

// A failed item is a value: the batch goes on, the report lists it, the exit code tells.
struct ItemFailure {
  std::string path;
  ErrorKind kind = ErrorKind::unreadable;
  std::string message;
};

// What can be known of an item before its pixels are decoded: enough to plan batches.
struct ItemHeader {
  ItemKind kind = ItemKind::image;
  GridThw grid;
};

// The inputs of a run in request order. Implementations are safe to call from several threads at
// once; both calls return the failure of their own item instead of throwing it.
class ItemSource {
 public:
  virtual ~ItemSource() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::variant<ItemHeader, ItemFailure> header(std::size_t i) const = 0;
  [[nodiscard]] virtual std::variant<LoadedItem, ItemFailure> load(std::size_t i) const = 0;
};

}  // namespace vtower
