// Reading whole files through the page cache, and writing files that appear complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace vtower {

// A regular file mapped read-only. Throws Error{unreadable} when the path is missing, a directory,
// not a regular file or not permitted. A file that another process shortens while it is mapped is
// outside of what can be caught.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return {data_, size_}; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// Writes to a temporary name in the folder of `path`; commit() flushes and renames. Destroyed
// without commit it leaves nothing behind. Throws Error{unreadable} when the folder cannot be
// written or the disk is full.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::uint8_t> bytes);
  void write(const std::string& text);
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace vtower
