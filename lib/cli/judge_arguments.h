// The options on how runs are judged and what is reported, the same for check and diff.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/policy.h"

namespace vtower::cli {

struct JudgeArguments {
  std::string policy;  // a file; empty: configs/default.json
  bool exact = false;
  std::optional<double> k;
  std::optional<double> atol;
  std::optional<double> rtol;
  bool explain = true;
  double explain_seconds = 600;
  std::vector<std::string> hypotheses;  // NAME=DUMP
  std::string junit;
  std::string html;

  void add_to(CLI::App& app);
  // Without those that need a tower.
  void add_limits_to(CLI::App& app);

  // The policy under the options. Throws Error as Policy does: one that is looser than the default
  // has to say why, in a file.
  [[nodiscard]] Policy resolved() const;

  // Names and files of --hypothesis. Throws Error{usage} for what is no NAME=DUMP.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> named_dumps() const;
};

}  // namespace vtower::cli
