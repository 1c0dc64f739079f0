#include "cli/judge_arguments.h"

#include "core/error.h"

namespace vtower::cli {

void JudgeArguments::add_to(CLI::App& app) {
  add_limits_to(app);
  app.add_flag_callback(
         "--no-explain", [this] { explain = false; }, "do not look for the cause of a difference")
      ->group("Limits");
  app.add_option("--explain-seconds", explain_seconds, "most time for the search for a cause [600]")
      ->check(CLI::PositiveNumber)
      ->option_text("S")
      ->group("Limits");
  app.add_option("--hypothesis", hypotheses,
                 "a run of your own to try as a cause, as often as needed")
      ->option_text("NAME=DUMP")
      ->group("Limits");
  app.add_option("--html", html, "also write the report as one self-contained page")
      ->option_text("FILE")
      ->group("Output");
}

void JudgeArguments::add_limits_to(CLI::App& app) {
  app.add_option("--policy", policy, "tolerance policy [configs/default.json]")
      ->option_text("FILE")
      ->group("Limits");
  app.add_flag("--exact", exact, "ask for the same bytes too")->group("Limits");
  app.add_option("--k", k, "limit of a token = k times the measured floor [3]")
      ->check(CLI::PositiveNumber)
      ->option_text("K")
      ->group("Limits");
  app.add_option("--atol", atol, "ask for |a - b| <= atol + rtol |b| of every value too")
      ->check(CLI::NonNegativeNumber)
      ->option_text("X")
      ->group("Limits");
  app.add_option("--rtol", rtol, "see --atol")
      ->check(CLI::NonNegativeNumber)
      ->option_text("X")
      ->group("Limits");
  app.add_option("--junit", junit, "also write the report as JUnit XML")
      ->option_text("FILE")
      ->group("Output");
}

Policy JudgeArguments::resolved() const {
  Policy resolved = policy.empty() ? Policy::standard() : Policy::read(policy);
  if (exact) resolved.exact = true;
  if (k) resolved.k = *k;
  if (atol || rtol) resolved.tolerance = ValueTolerance{atol.value_or(0), rtol.value_or(0)};
  resolved.check("options");
  return resolved;
}

std::vector<std::pair<std::string, std::string>> JudgeArguments::named_dumps() const {
  std::vector<std::pair<std::string, std::string>> named;
  for (const std::string& text : hypotheses) {
    const std::size_t at = text.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == text.size()) {
      throw Error(ErrorKind::usage, "options", "--hypothesis " + text + ": expected NAME=DUMP");
    }
    named.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return named;
}

}  // namespace vtower::cli
