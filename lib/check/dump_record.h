// What a dump says of itself in its header. Part of reading dumps (dump.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/dump_source.h"
#include "core/grid_thw.h"

namespace vtower {

struct DumpRecordItem {
  std::string path;
  std::string sha256;
  std::optional<GridThw> grid;
};

struct DumpRecord {
  nlohmann::ordered_json json;  // null: no vtower record
  // Of the record, else of `vtower_items`, which scripts/dump_hf.py writes: path and sha256 alone.
  std::vector<DumpRecordItem> items;
  std::optional<std::int64_t> merge_size;  // from patches and tokens of the items
};

// Throws Error{unreadable} for a record that is damaged.
DumpRecord read_dump_record(const DumpSource& source);

// The name of each item: its file's, the whole path where two files share a name, with "#0", "#1"
// behind it where one file holds several items.
std::vector<std::string> item_keys(const std::vector<DumpRecordItem>& items);

}  // namespace vtower
