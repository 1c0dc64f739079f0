#include "engine/item_record_json.h"

namespace vtower {
namespace {

using Json = nlohmann::json;

template <typename Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

template <typename Value>
std::optional<Value> optional_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<Value>();
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
    frames.push_back({frame.index, frame.seconds, frame.sha256, optional_json(frame.replaced_by)});
  }
  return {{"frame_count", video.frame_count},
          {"header_frame_count", optional_json(video.header_frame_count)},
          {"fps", optional_json(video.fps)},
          {"fps_origin", video.fps_origin},
          {"sampled_fps", optional_json(video.sampled_fps)},
          {"rule", video.rule},
          {"frames_asked", optional_json(video.frames_asked)},
          {"start_seconds", video.start_seconds},
          {"rotation_degrees", video.rotation_degrees},
          {"pixel_format", video.pixel_format},
          {"colour", video.colour},
          {"frames", std::move(frames)}};
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
  for (const Json& frame : json.at("frames")) {
    video.frames.push_back({frame.at(0).get<std::int64_t>(), frame.at(1).get<double>(),
                            frame.at(2).get<std::string>(),
                            optional_of<std::int64_t>(frame.at(3))});
  }
  return video;
}

}  // namespace

Json to_json(const ItemRecord& record) {
  return {{"kind", static_cast<int>(record.kind)},
          {"path", record.path},
          {"format", record.format},
          {"sha256", record.sha256},
          {"stored", size_json(record.stored)},
          {"orientation", optional_json(record.orientation)},
          {"orientation_applied", record.orientation_applied},
          {"decoded", size_json(record.decoded)},
          {"resized", size_json(record.resized)},
          {"notes", record.notes},
          {"video", record.video ? video_json(*record.video) : Json()}};
}

ItemRecord item_record_of(const Json& json) {
  ItemRecord record;
  record.kind = static_cast<ItemKind>(json.at("kind").get<int>());
  record.path = json.at("path").get<std::string>();
  record.format = json.at("format").get<std::string>();
  record.sha256 = json.at("sha256").get<std::string>();
  record.stored = size_of(json.at("stored"));
  record.orientation = optional_of<std::int64_t>(json.at("orientation"));
  record.orientation_applied = json.at("orientation_applied").get<bool>();
  record.decoded = size_of(json.at("decoded"));
  record.resized = size_of(json.at("resized"));
  record.notes = json.at("notes").get<std::vector<std::string>>();
  if (!json.at("video").is_null()) record.video = video_of(json.at("video"));
  return record;
}

}  // namespace vtower
