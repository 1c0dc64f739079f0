#include "check/dump_record.h"

#include <map>

#include "core/json_strict.h"

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

class RecordReader {
 public:
  explicit RecordReader(const DumpSource& source) : source_(source) {}

  DumpRecord read(const std::string& text) const {
    DumpRecord record{parse(text), {}, {}};
    read_items(record.json, record);
    return record;
  }

  // A list of items in the header of another program's dump.
  DumpRecord read_list(const std::string& text) const {
    DumpRecord record;
    read_items(parse("{\"items\": " + text + "}"), record);
    return record;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    source_.fail(ErrorKind::unreadable, "vtower record: " + what);
  }

  Json parse(const std::string& text) const {
    const std::string name = source_.path.string() + ": vtower record";
    parse_json_strictly(text, name, "dump", ErrorKind::unreadable);
    return Json::parse(text);
  }

  void read_items(const Json& json, DumpRecord& record) const {
    if (!json.contains("items")) return;
    const Json& items = json["items"];
    if (!items.is_array()) fail("items is no list");
    for (const Json& entry : items) {
      const std::string where = "items[" + std::to_string(record.items.size()) + "]";
      if (!entry.is_object()) fail(where + " is no object");
      record.items.push_back(
          {text_of(entry, where, "path"), text_of(entry, where, "sha256"), grid_of(entry, where)});
      const std::optional<GridThw>& grid = record.items.back().grid;
      if (!record.merge_size && grid) record.merge_size = merge_size_of(*grid, entry);
    }
  }

  std::string text_of(const Json& entry, const std::string& where, const char* key) const {
    if (!entry.contains(key)) return {};
    if (!entry[key].is_string()) fail(where + "." + key + " is no text");
    return entry[key].get<std::string>();
  }

  std::optional<GridThw> grid_of(const Json& entry, const std::string& where) const {
    if (!entry.contains("grid_thw")) return std::nullopt;
    const Json& sides = entry["grid_thw"];
    constexpr std::int64_t most = std::int64_t{1} << 20;  // no product of three overflows
    const auto side = [&](std::size_t i) {
      const bool number = sides.is_array() && sides.size() == 3 && sides[i].is_number_integer();
      const std::int64_t value = number ? sides[i].get<std::int64_t>() : 0;
      if (value < 1 || value > most) fail(where + ".grid_thw: expected three counts from 1");
      return value;
    };
    return GridThw{side(0), side(1), side(2)};
  }

  static std::optional<std::int64_t> merge_size_of(const GridThw& grid, const Json& entry) {
    if (!entry.contains("tokens") || !entry["tokens"].is_number_integer()) return std::nullopt;
    const auto tokens = entry["tokens"].get<std::int64_t>();
    for (std::int64_t merge = 1; merge <= 16; ++merge) {
      if (tokens > 0 && grid.patches() / (merge * merge) == tokens &&
          grid.patches() % (merge * merge) == 0) {
        return merge;
      }
    }
    return std::nullopt;
  }

  const DumpSource& source_;
};

}  // namespace

DumpRecord read_dump_record(const DumpSource& source) {
  const RecordReader reader(source);
  const auto record = source.metadata.find("vtower");
  if (record != source.metadata.end()) return reader.read(record->second);
  const auto list = source.metadata.find("vtower_items");
  return list == source.metadata.end() ? DumpRecord{} : reader.read_list(list->second);
}

std::vector<std::string> item_keys(const std::vector<DumpRecordItem>& items) {
  const auto file_name = [](const DumpRecordItem& item) {
    return std::filesystem::path(item.path).filename().string();
  };
  std::map<std::string, int> of_name;
  std::map<std::string, int> of_path;
  for (const DumpRecordItem& item : items) {
    if (of_path[item.path]++ == 0) ++of_name[file_name(item)];
  }
  std::map<std::string, int> used;
  std::vector<std::string> keys;
  for (const DumpRecordItem& item : items) {
    const std::string name = file_name(item);
    std::string key = of_name[name] > 1 || name.empty() ? item.path : name;
    if (of_path[item.path] > 1) key += "#" + std::to_string(used[item.path]++);
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace vtower
