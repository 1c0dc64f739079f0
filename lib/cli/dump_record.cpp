#include "cli/dump_record.h"

namespace vtower::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_at(const Json& record, const char* part, const char* key) {
  if (!record.contains(part) || !record[part].contains(key)) return "unknown";
  const Json& value = record[part][key];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Json record_of(const SafetensorsFile& file) {
  const auto found = file.metadata().find("vtower");
  if (found == file.metadata().end()) return nullptr;
  try {
    return Json::parse(found->second);
  } catch (const Json::exception&) {
    throw Error(ErrorKind::unreadable, "inspect",
                file.path().string() + ": its vtower record is no JSON; was the file edited?");
  }
}

void print_record(const Json& record, const Terminal& terminal) {
  if (record.is_null()) {
    terminal.say("  no vtower record: made by another tool");
    return;
  }
  terminal.say("  made by vtower " + text_at(record, "version", "vtower") + ", profile " +
               text_at(record, "profile", "name"));
  if (record.contains("attestation")) {
    terminal.say("  checkpoint " + text_at(record, "checkpoint", "family") + " " +
                 text_at(record, "checkpoint", "hash"));
    terminal.say("  mode " + text_at(record, "attestation", "mode") + " on " +
                 text_at(record, "attestation", "device") + " in " +
                 text_at(record, "attestation", "dtype"));
  }
  if (!record.contains("items") || !record["items"].is_array()) return;
  for (const Json& item : record["items"]) {
    const auto field = [&](const char* key) {
      return item.contains(key) ? item[key].dump() : std::string("?");
    };
    terminal.say("  item " + field("path") + ": " + field("kind") + ", grid_thw " +
                 field("grid_thw") +
                 (item.contains("tokens") ? ", tokens " + field("tokens") : ""));
  }
}

}  // namespace vtower::cli
