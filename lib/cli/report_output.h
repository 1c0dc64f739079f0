// The end of check and diff: verdict, exit code, and the report in every form asked for.
#pragma once

#include <vector>

#include "check/report.h"
#include "cli/exit_code.h"
#include "cli/judge_arguments.h"
#include "cli/terminal.h"

namespace vtower::cli {

// Sets verdict and exit code of `report` from its pairs and cause and from `others`.
void conclude(Report& report, std::vector<ExitCode> others);

// Writes what the options ask for, prints, and returns the code of a concluded report.
ExitCode show(const Report& report, const JudgeArguments& arguments, const Terminal& terminal);

}  // namespace vtower::cli
