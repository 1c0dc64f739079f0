// Where a command writes: standard output carries data or the report, standard error messages and
// progress.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "core/error.h"
#include "core/item.h"

namespace vtower::cli {

enum class ProgressStyle { automatic, bar, plain, none };
enum class ReportFormat { text, json };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool err_is_tty = false;
  ReportFormat format = ReportFormat::text;
  bool quiet = false;
  ProgressStyle progress = ProgressStyle::automatic;

  // A line of the report on standard output, unless --quiet or --json.
  void say(const std::string& line) const;
  // A message on standard error, unless --quiet.
  void note(const std::string& line) const;
  // A failure on standard error; --quiet does not hide it.
  void complain(const std::string& line) const;
  // The report with --json: one object on standard output.
  void report(const nlohmann::ordered_json& value) const;
};

// {"path", "class", "message"} of each.
nlohmann::ordered_json to_json(const std::vector<ItemFailure>& failures);

}  // namespace vtower::cli
