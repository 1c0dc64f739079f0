// A report for people: what came out on one screen, then every pair.
#pragma once

#include <string>

#include "check/report.h"

namespace vtower {

// Lines of at most 100 characters, each ending with a newline: verdict, cause, place, size, what to
// do; then a table for each pair, the items beyond their limit first. Valid UTF-8 without control
// characters.
std::string to_text(const Report& report);

// What a report with this outcome suggests where nothing better is known.
std::vector<std::string> usual_next_steps(const Report& report);

}  // namespace vtower
