// The one exception that stops a command, and the value a failed item leaves behind.
//
// Everything below lib/cli returns values or throws Error; only lib/cli prints, and only
// lib/cli/exit_code.h maps kinds to exit codes. A message says what was expected, what was found
// and the likely cause; `context` says who speaks ("weight_source", "png").
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace vtower {

enum class ErrorKind {
  usage,             // contradictory or unknown options
  unreadable,        // no such file, not a regular file, not what it claims to be, checksum failure
  truncated,         // the data end before the content does
  unsupported,       // recognised and deliberately not read
  too_large,         // above a safety cap; the message names the option that raises it
  aspect_ratio,      // long side / short side above 200
  out_of_range,      // a request outside of what exists
  checkpoint,        // configuration or weights of the checkpoint
  not_comparable,    // two sides that must not be compared
  mode_unavailable,  // the asked-for mode, device or dtype cannot run here
  device,            // the accelerator or its driver failed
  memory,            // out of memory
  peer,              // another rank failed or did not answer
};

// Name as written in reports: "unreadable", "aspect_ratio", ...
std::string_view to_string(ErrorKind kind) noexcept;

class Error : public std::exception {
 public:
  // what() is "[context] message".
  Error(ErrorKind kind, std::string context, std::string message);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& context() const noexcept { return context_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string context_;
  std::string message_;
  std::string text_;
};

}  // namespace vtower
