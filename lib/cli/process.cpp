#include "cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace vtower::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::mode_unavailable, "process", what + ": " + std::strerror(errno));
}

// A file without a name, closed with the object.
class Memory {
 public:
  Memory() : descriptor_(::memfd_create("vtower", MFD_CLOEXEC)) {
    if (descriptor_ < 0) refuse("no memory for the output of a process");
  }
  ~Memory() { ::close(descriptor_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
    const auto got = ::pread(descriptor_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int descriptor_;
};

std::string last_of(std::string text) {
  constexpr std::size_t most = 2000;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.size() <= most ? text : "..." + text.substr(text.size() - most);
}

}  // namespace

ProcessResult run_self(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"vtower"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const Memory out;
  const Memory err;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) refuse("a process cannot be started");
  if (child == 0) {  // other threads held locks at the fork: system calls alone from here on
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(out.descriptor(), STDOUT_FILENO);
    ::dup2(err.descriptor(), STDERR_FILENO);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) refuse("a process was lost");
  }
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {code, out.text(), last_of(err.text())};
}

}  // namespace vtower::cli
