#include "cli/local_ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"

extern char** environ;

namespace vtower::cli {
namespace {

constexpr auto patience = std::chrono::seconds(5);

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::mode_unavailable, "dp", what + ": " + std::strerror(errno));
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::vector<std::string> environment_of(int rank, int world_size, std::uint16_t port) {
  const std::vector<std::string> own{"RANK=" + std::to_string(rank),
                                     "LOCAL_RANK=" + std::to_string(rank),
                                     "WORLD_SIZE=" + std::to_string(world_size),
                                     "LOCAL_WORLD_SIZE=" + std::to_string(world_size),
                                     "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=" + std::to_string(port),
                                     "TORCHELASTIC_USE_AGENT_STORE=",
                                     "TORCHELASTIC_RESTART_COUNT="};
  std::vector<std::string> all = own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const std::string& line : own) {
      replaced = replaced || text.starts_with(line.substr(0, line.find('=') + 1));
    }
    if (!replaced) all.push_back(text);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

void LocalRanks::start(int world_size, std::uint16_t port) {
  std::vector<std::string> arguments = own_command_line();
  const std::vector<char*> argv = pointers(arguments);
  const pid_t parent = ::getpid();
  for (int rank = 1; rank < world_size; ++rank) {
    std::vector<std::string> environment = environment_of(rank, world_size, port);
    const std::vector<char*> envp = pointers(environment);
    const pid_t pid = ::fork();
    if (pid < 0) refuse("rank " + std::to_string(rank) + " cannot be started");
    if (pid == 0) {  // other threads held locks at the fork: system calls alone from here on
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      // opened anew, it is read from its start
      const int in = ::open("/proc/self/fd/0", O_RDONLY);
      if (in >= 0) ::dup2(in, STDIN_FILENO);
      ::execve("/proc/self/exe", argv.data(), envp.data());
      ::_exit(127);
    }
    children_.push_back({pid, std::nullopt});
  }
}

std::optional<std::string> LocalRanks::ended(int rank) {
  if (rank < 1 || rank > static_cast<int>(children_.size())) return std::nullopt;
  Child& child = children_[static_cast<std::size_t>(rank) - 1];
  int status = 0;
  if (!child.end && ::waitpid(child.pid, &status, WNOHANG) == child.pid) {
    child.end = end_of(status);
  }
  return child.end;
}

LocalRanks::~LocalRanks() {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (int rank = 1; rank <= static_cast<int>(children_.size()); ++rank) {
    while (!ended(rank) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  for (Child& child : children_) {
    if (child.end) continue;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
  }
}

void make_stdin_rereadable() {
  const int file = ::memfd_create("stdin", MFD_CLOEXEC);
  if (file < 0) refuse("standard input cannot be kept for all ranks");
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("standard input");
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(file, buffer + done, static_cast<std::size_t>(got - done));
      if (put < 0) refuse("standard input cannot be kept for all ranks");
      done += put;
    }
  }
  ::lseek(file, 0, SEEK_SET);
  if (::dup2(file, STDIN_FILENO) < 0) refuse("standard input");
  ::close(file);
}

}  // namespace vtower::cli
