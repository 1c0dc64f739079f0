#include "cli/stop.h"

#include <c10/util/Exception.h>

#include <new>

#include "cli/exit_code.h"

namespace vtower::cli {
namespace {

// LibTorch reports a failed allocation of a CPU as a plain error.
ErrorKind kind_of(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  const bool memory = text.find("not enough memory") != std::string::npos ||
                      text.find("out of memory") != std::string::npos ||
                      text.find("can't allocate memory") != std::string::npos;
  return memory ? ErrorKind::memory : ErrorKind::device;
}

}  // namespace

Stop current_stop() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::memory, "[vtower] out of memory"};
  } catch (const c10::Error& error) {
    return {kind_of(error), std::string("[libtorch] ") + error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {ErrorKind::device, std::string("[vtower] ") + error.what()};
  }
}

int report_stop(const Terminal& terminal, const Stop& stop) {
  terminal.complain(stop.message);
  const int code = static_cast<int>(exit_code_of(stop.kind));
  terminal.report({{"error", {{"class", to_string(stop.kind)}, {"message", stop.message}}},
                   {"exit_code", code}});
  return code;
}

}  // namespace vtower::cli
