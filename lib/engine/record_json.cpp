#include "engine/record_json.h"

#include <initializer_list>

#include "core/error.h"

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

template <typename Value>
std::optional<Value> optional_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<Value>();
}

// The value among `all` that to_string() gives this name.
template <typename Value>
Value named(const Json& json, std::initializer_list<Value> all) {
  const auto name = json.get<std::string>();
  for (const Value value : all) {
    if (to_string(value) == name) return value;
  }
  throw Error(ErrorKind::peer, "record", "'" + name + "' is the name of nothing known here");
}

Json size_json(const ImageSize& size) {
  return {size.height, size.width};
}

ImageSize size_of(const Json& json) {
  ImageSize size;
  size.height = json.at(0).get<std::int64_t>();
  size.width = json.at(1).get<std::int64_t>();
  return size;
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

SampledFrame frame_of(const Json& json) {
  SampledFrame frame{json.at("index").get<std::int64_t>(), json.at("seconds").get<double>(),
                     json.at("sha256").get<std::string>(), std::nullopt};
  if (json.contains("replaced_by")) frame.replaced_by = json.at("replaced_by").get<std::int64_t>();
  return frame;
}

VideoRecord video_of(const Json& json) {
  VideoRecord video;
  video.frame_count = json.at("frame_count").get<std::int64_t>();
  video.header_frame_count = optional_of<std::int64_t>(json.at("header_frame_count"));
  video.fps = optional_of<double>(json.at("fps"));
  video.fps_origin = json.at("fps_origin").get<std::string>();
  video.sampled_fps = optional_of<double>(json.at("sampled_fps"));
  video.rule = json.at("rule").get<std::string>();
  video.frames_asked = optional_of<std::int64_t>(json.at("frames_asked"));
  video.start_seconds = json.at("start_seconds").get<double>();
  video.rotation_degrees = json.at("rotation_degrees").get<std::int64_t>();
  video.pixel_format = json.at("pixel_format").get<std::string>();
  video.colour = json.at("colour").get<std::string>();
  for (const Json& frame : json.at("frames")) video.frames.push_back(frame_of(frame));
  return video;
}

Json ranges_json(const std::array<ChannelRange, 3>& channels) {
  Json list = Json::array();
  for (const ChannelRange& range : channels) list.push_back({range.smallest, range.largest});
  return list;
}

std::array<ChannelRange, 3> ranges_of(const Json& json) {
  std::array<ChannelRange, 3> ranges;
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    ranges[c] = {json.at(c).at(0).get<float>(), json.at(c).at(1).get<float>()};
  }
  return ranges;
}

}  // namespace

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

ItemRecord item_record_of(const Json& json) {
  ItemRecord record;
  record.kind = named(json.at("kind"), {ItemKind::image, ItemKind::video, ItemKind::raw});
  record.path = json.at("path").get<std::string>();
  record.format = json.at("format").get<std::string>();
  record.sha256 = json.at("sha256").get<std::string>();
  if (record.kind != ItemKind::raw) {
    record.stored = size_of(json.at("stored"));
    record.decoded = size_of(json.at("decoded"));
    record.resized = size_of(json.at("resized"));
    record.orientation = optional_of<std::int64_t>(json.at("orientation"));
    record.orientation_applied = json.at("orientation_applied").get<bool>();
  }
  record.notes = json.at("notes").get<std::vector<std::string>>();
  if (json.contains("video")) record.video = video_of(json.at("video"));
  return record;
}

Json ledger_json(const LedgerRecord& ledger) {
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
            {"allowed", ranges_json(ledger.norm_allowed)},
            {"observed", ranges_json(ledger.norm_observed)}}},
          {"stages", std::move(stages)}};
}

LedgerRecord ledger_record_of(const Json& json) {
  LedgerRecord ledger;
  ledger.passes = json.at("passes").get<std::int64_t>();
  ledger.norm_allowed = ranges_of(json.at("norm").at("allowed"));
  ledger.norm_observed = ranges_of(json.at("norm").at("observed"));
  for (const Json& entry : json.at("stages")) {
    const DType dtype = named(entry.at("dtype"), {DType::f32, DType::bf16, DType::f16, DType::f64});
    ledger.stages.push_back({entry.at("stage").get<std::string>(),
                             entry.at("shape").at(0).get<std::int64_t>(),
                             entry.at("shape").at(1).get<std::int64_t>(), to_scalar_type(dtype),
                             c10::Device(entry.at("device").get<std::string>())});
  }
  return ledger;
}

}  // namespace vtower
