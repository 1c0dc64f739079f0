#include "cli/stop.h"

#include <new>

#include "cli/exit_code.h"
#include "engine/torch_error.h"

namespace vtower::cli {
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
