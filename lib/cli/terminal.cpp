#include "cli/terminal.h"

namespace vtower::cli {

void Terminal::say(const std::string& line) const {
  if (!quiet && format == ReportFormat::text) {
    out << line << std::endl;  // seen at once, also through a pipe
  }
}

void Terminal::note(const std::string& line) const {
  if (!quiet) err << line << '\n';
}

void Terminal::complain(const std::string& line) const {
  err << "vtower: " << line << '\n';
}

void Terminal::report(const nlohmann::ordered_json& value) const {
  if (format != ReportFormat::json) return;
  using Json = nlohmann::ordered_json;
  out << value.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

nlohmann::ordered_json to_json(const std::vector<ItemFailure>& failures) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ItemFailure& failure : failures) {
    list.push_back(
        {{"path", failure.path}, {"class", to_string(failure.kind)}, {"message", failure.message}});
  }
  return list;
}

}  // namespace vtower::cli
