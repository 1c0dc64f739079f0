// A report as JUnit XML, for CI servers.
#pragma once

#include <string>

#include "check/report.h"

namespace vtower {

// One suite for each pair, one case for each item of it. What was left out, a pair that compared
// nothing and a pair that fails as a whole are failures as well; items and modes that did not run
// are errors of a suite of their own. Well-formed XML 1.0 in UTF-8 whatever the names hold.
std::string to_junit(const Report& report);

}  // namespace vtower
