// The numbers of a report's page.
#pragma once

#include <string>

#include "check/report.h"

namespace vtower::cli {

// A row for each pair, with its notes and its items below it.
std::string html_pairs(const Report& report);

// Items that failed: path, class, message.
std::string html_failed(const Report& report);

// "agree" or "differ", or "unsure" for what could not be told: classes of the page's style.
std::string html_class_of(Verdict verdict);
// For people.
std::string html_word_of(Verdict verdict);

}  // namespace vtower::cli
