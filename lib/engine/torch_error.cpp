#include "engine/torch_error.h"

#include <string>

namespace vtower {

ErrorKind kind_of(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  const bool memory = text.find("not enough memory") != std::string::npos ||
                      text.find("out of memory") != std::string::npos ||
                      text.find("can't allocate memory") != std::string::npos;
  return memory ? ErrorKind::memory : ErrorKind::device;
}

}  // namespace vtower
