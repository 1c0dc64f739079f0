#include "cli/record.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include "cli/version.h"
#include "media/library_versions.h"

namespace vtower::cli {
namespace {

Json size_json(ImageSize size) {
  return {size.height, size.width};
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json video_json(const VideoRecord& video) {
  Json frames = Json::array();
  for (const SampledFrame& frame : video.frames) {
    Json entry{{"index", frame.index}, {"seconds", frame.seconds}, {"sha256", frame.sha256}};
    if (frame.replaced_by) entry["replaced_by"] = *frame.replaced_by;
    frames.push_back(std::move(entry));
  }
  return {{"frame_count", video.frame_count},
          {"header_frame_count", or_null(video.header_frame_count)},
          {"fps", or_null(video.fps)},
          {"fps_origin", video.fps_origin},
          {"sampled_fps", or_null(video.sampled_fps)},
          {"rule", video.rule},
          {"frames_asked", or_null(video.frames_asked)},
          {"start_seconds", video.start_seconds},
          {"rotation_degrees", video.rotation_degrees},
          {"pixel_format", video.pixel_format},
          {"colour", video.colour},
          {"frames", std::move(frames)}};
}

}  // namespace

Json versions_json() {
  Json versions{{"vtower", version}, {"torch", TORCH_VERSION}};
  for (const auto& [library, text] : media_library_versions()) versions[library] = text;
  return versions;
}

std::string cpu_capability() {
  return at::get_cpu_capability();
}

Json origins_json(const std::vector<ValueOrigin>& origins) {
  Json list = Json::object();
  for (const ValueOrigin& entry : origins) {
    list[entry.name] = {{"value", entry.value}, {"origin", entry.origin}};
  }
  return list;
}

Json checkpoint_json(const Checkpoint& checkpoint) {
  const WeightSource weights = checkpoint.weights();
  return {{"hash", weights.hash()},
          {"family", to_string(checkpoint.vision().family)},
          {"prefix", checkpoint.prefix()},
          {"tensors", weights.tensor_count()},
          {"notes", checkpoint.notes()}};
}

Json norm_json(const PreprocessorConfig& preprocessor) {
  const NormConstants& norm = preprocessor.norm;
  return {{"mean", norm.mean()},
          {"std", norm.std()},
          {"rescale_factor", norm.rescale_factor()},
          {"origins", origins_json(preprocessor.origins)},
          {"notes", preprocessor.notes}};
}

Json profile_json(const MediaArguments& media) {
  return {{"name", to_string(media.options.profile)}, {"options", media.to_json()}};
}

Json plan_json(const BatchPlan& plan) {
  Json batches = Json::array();
  for (const Batch& batch : plan.batches) batches.push_back(batch.items);
  return {{"max_batch_rows", plan.max_rows}, {"batches", std::move(batches)}};
}

Json attestation_json(std::string_view mode, const Placement& placement, int threads) {
  return {{"mode", mode},
          {"captured", false},
          {"device", placement.device.str()},
          {"dtype", to_string(placement.dtype)},
          {"world_size", 1},
          {"threads", threads},
          {"cpu_capability", cpu_capability()},
          {"tf32", false},
          {"reduced_precision_reduction", false}};
}

Json ledger_json(const LedgerRecord& ledger) {
  const auto ranges = [](const std::array<ChannelRange, 3>& channels) {
    Json list = Json::array();
    for (const ChannelRange& range : channels) list.push_back({range.smallest, range.largest});
    return list;
  };
  Json stages = Json::array();
  for (const LedgerEntry& entry : ledger.stages) {
    stages.push_back({{"stage", entry.stage},
                      {"dtype", to_string(to_dtype(entry.dtype))},
                      {"device", entry.device.str()},
                      {"shape", {entry.rows, entry.width}}});
  }
  return {{"passes", ledger.passes},
          {"norm",
           {{"input_dtype", "uint8"},
            {"allowed", ranges(ledger.norm_allowed)},
            {"observed", ranges(ledger.norm_observed)}}},
          {"stages", std::move(stages)}};
}

Json item_json(const ItemRecord& record) {
  Json item{{"kind", to_string(record.kind)},
            {"path", record.path},
            {"format", record.format},
            {"sha256", record.sha256}};
  if (record.kind != ItemKind::raw) {
    item["stored"] = size_json(record.stored);
    item["decoded"] = size_json(record.decoded);
    item["resized"] = size_json(record.resized);
    item["orientation"] = or_null(record.orientation);
    item["orientation_applied"] = record.orientation_applied;
  }
  item["notes"] = record.notes;
  if (record.video) item["video"] = video_json(*record.video);
  return item;
}

std::map<std::string, std::string> file_metadata(const Json& record) {
  return {{"format", "pt"},
          {"vtower", record.dump(-1, ' ', false, Json::error_handler_t::replace)}};
}

}  // namespace vtower::cli
