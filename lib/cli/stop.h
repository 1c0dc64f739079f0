// The exception that ends a command, as the user hears of it.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "core/error.h"

namespace vtower::cli {

struct Stop {
  ErrorKind kind = ErrorKind::device;
  std::string message;
};

// Of the exception being handled.
Stop current_stop();

// Message and report; returns the exit code.
int report_stop(const Terminal& terminal, const Stop& stop);

}  // namespace vtower::cli
