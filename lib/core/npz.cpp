#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string_view>

#include "core/error.h"
#include "core/file.h"
#include "core/npy.h"
#include "core/npy_stream.h"

namespace vtower {
namespace {

constexpr std::string_view suffix = ".npy";
constexpr std::uint64_t most_deflate_gains = 1032;  // bytes out of one byte, at the very most

[[noreturn]] void refuse(ErrorKind kind, const std::string& name, const std::string& why) {
  throw Error(kind, "npz", name + ": " + why);
}

struct Closer {
  void operator()(archive* opened) const { archive_read_free(opened); }
};
using Archive = std::unique_ptr<archive, Closer>;

std::string complaint(archive* opened) {
  const char* text = archive_error_string(opened);
  return text != nullptr ? text : "damaged zip";
}

// The bytes of the current member.
class MemberStream : public NpyStream {
 public:
  MemberStream(archive* opened, std::string name, std::uint64_t size)
      : opened_(opened), name_(std::move(name)), left_(size) {}

  [[nodiscard]] std::uint64_t left() const override { return left_; }

  void read(std::span<std::uint8_t> target) override {
    left_ -= target.size();
    while (!target.empty()) target = target.subspan(read_some(target));
  }

  // Checks that nothing follows; the zip reader compares the checksum there.
  void finish() {
    std::uint8_t more = 0;
    const la_ssize_t count = archive_read_data(opened_, &more, 1);
    if (count < 0) refuse(ErrorKind::unreadable, name_, complaint(opened_));
    if (count > 0) refuse(ErrorKind::unreadable, name_, "more bytes than the zip says");
  }

 private:
  std::size_t read_some(std::span<std::uint8_t> target) {
    const la_ssize_t count = archive_read_data(opened_, target.data(), target.size());
    if (count < 0) refuse(ErrorKind::unreadable, name_, complaint(opened_));
    if (count == 0) refuse(ErrorKind::truncated, name_, "fewer bytes than the zip says");
    return static_cast<std::size_t>(count);
  }

  archive* opened_;
  std::string name_;
  std::uint64_t left_;
};

std::uint64_t member_size(archive_entry* entry, const std::string& name, std::uint64_t file_size) {
  if (archive_entry_is_encrypted(entry) != 0) {
    refuse(ErrorKind::unsupported, name, "is encrypted");
  }
  if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0) {
    refuse(ErrorKind::unreadable, name, "the zip does not say its size");
  }
  const auto size = static_cast<std::uint64_t>(archive_entry_size(entry));
  if (size / most_deflate_gains > file_size) {
    refuse(ErrorKind::unreadable, name,
           "the zip says " + std::to_string(size) + " bytes, more than a file of " +
               std::to_string(file_size) + " bytes can hold");
  }
  return size;
}

}  // namespace

std::map<std::string, NpyArray> read_npz(const std::filesystem::path& path,
                                         const NpyLimits& limits) {
  const MappedFile file(path);
  if (file.bytes().empty()) refuse(ErrorKind::truncated, path.string(), "is empty");
  const Archive opened(archive_read_new());
  if (!opened) throw Error(ErrorKind::memory, "npz", path.string() + ": out of memory");
  archive_read_support_format_zip_seekable(opened.get());
  if (archive_read_open_memory(opened.get(), file.bytes().data(), file.bytes().size()) !=
      ARCHIVE_OK) {
    refuse(ErrorKind::unreadable, path.string(), complaint(opened.get()));
  }

  std::map<std::string, NpyArray> arrays;
  std::uint64_t allowed = limits.max_bytes;
  archive_entry* entry = nullptr;
  for (;;) {
    const int status = archive_read_next_header(opened.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK) {
      refuse(ErrorKind::unreadable, path.string(), complaint(opened.get()));
    }
    const char* text = archive_entry_pathname(entry);
    const std::string member = text != nullptr ? text : "";
    const std::string name = path.string() + ": member '" + member + "'";
    if (!member.ends_with(suffix)) {
      refuse(ErrorKind::unreadable, name, "is no .npy; expected arrays alone");
    }
    MemberStream stream(opened.get(), name, member_size(entry, name, file.bytes().size()));
    NpyArray array = read_npy_stream(stream, name, allowed);
    stream.finish();
    allowed -= array.bytes.size();
    const std::string key = member.substr(0, member.size() - suffix.size());
    if (!arrays.emplace(key, std::move(array)).second) {
      refuse(ErrorKind::unreadable, name, "is there twice");
    }
  }
  if (arrays.empty()) refuse(ErrorKind::unreadable, path.string(), "holds no array");
  return arrays;
}

}  // namespace vtower
