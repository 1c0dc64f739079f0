#include "core/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace vtower {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::unreadable, "file", path.string() + ": " + why);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(path, std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const int error = errno;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    if (!known) refuse(path, std::strerror(error));
    refuse(path,
           S_ISDIR(status.st_mode) ? "is a directory, expected a file" : "is not a regular file");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
      const int why = errno;
      ::close(descriptor);
      if (why == ENOMEM) {
        throw Error(ErrorKind::memory, "file",
                    path.string() + ": no memory to map its " + std::to_string(size_) + " bytes");
      }
      refuse(path, std::string("cannot be mapped: ") + std::strerror(why));
    }
    data_ = static_cast<const std::uint8_t*>(mapped);
  }
  ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  if (std::filesystem::is_directory(path_)) fail("is a directory, expected a file name");
  temporary_ = path_.string() + ".partial-XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail(std::string("cannot be written: ") + std::strerror(errno));
  }
  // mkostemp makes files for the owner alone; give what the umask would have given.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const std::string& what) const {
  refuse(path_, what);
}

void AtomicFile::write(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(std::string("cannot be written: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(const std::string& text) {
  write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void AtomicFile::commit() {
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    fail(std::string("cannot be written: ") + std::strerror(errno));
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail(std::string("cannot be renamed into place: ") + std::strerror(errno));
  }
  temporary_.clear();
}

}  // namespace vtower
