#include "cli/report_output.h"

#include "check/report_json.h"
#include "check/report_junit.h"
#include "check/report_text.h"
#include "core/file.h"

namespace vtower::cli {
namespace {

ExitCode code_of(const Report& report) {
  switch (report.verdict) {
    case Verdict::agree: return ExitCode::ok;
    case Verdict::differ: return report.cause ? ExitCode::differ_named : ExitCode::differ;
    case Verdict::not_comparable: return ExitCode::not_comparable;
    case Verdict::vacuous: return ExitCode::vacuous;
  }
  return ExitCode::differ;
}

// differ before not_comparable before vacuous before agree; no pair at all is vacuous.
Verdict verdict_of_all(const std::vector<PairReport>& pairs) {
  for (const Verdict verdict : {Verdict::differ, Verdict::not_comparable, Verdict::vacuous}) {
    for (const PairReport& pair : pairs) {
      if (pair.verdict == verdict) return verdict;
    }
  }
  return pairs.empty() ? Verdict::vacuous : Verdict::agree;
}

}  // namespace

void conclude(Report& report, std::vector<ExitCode> others) {
  report.verdict = verdict_of_all(report.pairs);
  others.push_back(code_of(report));
  report.exit_code = static_cast<int>(worst(others));
  if (report.next_steps.empty()) report.next_steps = usual_next_steps(report);
}

ExitCode show(const Report& report, const JudgeArguments& arguments, const Terminal& terminal) {
  if (!arguments.junit.empty()) {
    AtomicFile file(arguments.junit);
    file.write(to_junit(report));
    file.commit();
  }
  if (terminal.format == ReportFormat::text && !terminal.quiet) {
    terminal.out << to_text(report) << std::flush;
  }
  for (const auto& failure : report.failed) {
    terminal.complain(failure.value("path", "") + ": " + failure.value("message", ""));
  }
  for (const std::string& mode : report.not_run) terminal.complain(mode);
  terminal.report(to_json(report));
  return static_cast<ExitCode>(report.exit_code);
}

}  // namespace vtower::cli
