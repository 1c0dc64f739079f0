#include "cli/judge_arguments.h"

namespace vtower::cli {

void JudgeArguments::add_to(CLI::App& app) {
  add_limits_to(app);
  app.add_flag("!--no-explain", explain, "do not look for the cause of a difference")
      ->group("Limits");
  app.add_option("--explain-seconds", explain_seconds, "most time for the search for a cause [600]")
      ->check(CLI::PositiveNumber)
      ->option_text("S")
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

}  // namespace vtower::cli
