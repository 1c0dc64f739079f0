#include "cli/html_json.h"

#include <algorithm>
#include <vector>

#include "cli/html_text.h"

namespace vtower::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string scalar(const Json& value) {
  if (value.is_null()) return "—";
  if (value.is_string()) return html_escaped(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return html_escaped(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool is_flat(const Json& list) {
  return std::ranges::none_of(list, [](const Json& entry) { return entry.is_structured(); });
}

std::string in_a_line(const Json& list) {
  std::string html;
  for (const Json& entry : list) html += (html.empty() ? "" : ", ") + scalar(entry);
  return html.empty() ? "none" : html;
}

bool has_keys_of(const Json& row, const Json& first) {
  if (!row.is_object() || row.size() != first.size()) return false;
  for (const auto& cell : row.items()) {
    if (!first.contains(cell.key())) return false;
  }
  return true;
}

bool is_table(const Json& list) {
  return std::ranges::all_of(list, [&](const Json& row) { return has_keys_of(row, list.front()); });
}

std::string table_of(const Json& list) {
  std::string head;
  for (const auto& cell : list.front().items()) head += html_tag("th", html_escaped(cell.key()));
  std::string rows = html_tag("tr", head);
  for (const Json& row : list) {
    std::string cells;
    for (const auto& column : list.front().items()) {
      cells += html_tag("td", html_json(row[column.key()]));
    }
    rows += html_tag("tr", cells);
  }
  return html_tag("table", rows, "class=\"json\"");
}

}  // namespace

std::string html_json(const Json& value) {
  if (value.is_object()) {
    std::string rows;
    for (const auto& entry : value.items()) {
      rows += html_tag("tr", html_tag("th", html_escaped(entry.key()), "scope=\"row\"") +
                                 html_tag("td", html_json(entry.value())));
    }
    return rows.empty() ? "none" : html_tag("table", rows, "class=\"json\"");
  }
  if (!value.is_array()) return scalar(value);
  if (is_flat(value)) return in_a_line(value);
  if (is_table(value)) return table_of(value);
  std::string entries;
  for (const Json& entry : value) {
    entries += entry.is_array() && is_flat(entry) ? "[" + in_a_line(entry) + "] "
                                                  : html_tag("div", html_json(entry));
  }
  return entries;
}

}  // namespace vtower::cli
