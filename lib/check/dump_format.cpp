#include "check/dump_format.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/file.h"

namespace vtower {
namespace {

constexpr std::size_t searched_bytes = 1 << 20;  // of a log, for the line that names it

std::string lower_extension(const std::filesystem::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

// A header of two int32 whose product fits the file exactly.
bool is_mtmd_array(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 8) return false;
  std::int32_t sides[2] = {};
  std::memcpy(sides, bytes.data(), sizeof(sides));
  return sides[0] > 0 && sides[1] > 0 &&
         std::uint64_t{4} * static_cast<std::uint64_t>(sides[0]) *
                 static_cast<std::uint64_t>(sides[1]) ==
             bytes.size() - 8;
}

DumpFormat by_content(std::span<const std::uint8_t> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min(bytes.size(), searched_bytes));
  if (start.starts_with("\x93NUMPY")) return DumpFormat::npy;
  if (start.starts_with("PK")) {
    return start.substr(0, 256).find("data.pkl") == std::string_view::npos ? DumpFormat::npz
                                                                           : DumpFormat::pytorch;
  }
  if (is_mtmd_array(bytes) || start.find("MTMD_DEBUG_EMBEDDINGS") != std::string_view::npos) {
    return DumpFormat::mtmd;
  }
  if (start.starts_with("\x80\x02")) return DumpFormat::pytorch;
  if (start.size() > 8 && start[8] == '{') return DumpFormat::safetensors;
  return DumpFormat::unknown;
}

}  // namespace

DumpFormat dump_format(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::string extension = lower_extension(path);
  if (extension == ".safetensors") return DumpFormat::safetensors;
  if (extension == ".npy") return DumpFormat::npy;
  if (extension == ".npz") return DumpFormat::npz;
  if (extension == ".pt" || extension == ".pth" || extension == ".ckpt") return DumpFormat::pytorch;
  const DumpFormat found = by_content(file.bytes());
  return found == DumpFormat::unknown && extension == ".bin" ? DumpFormat::pytorch : found;
}

}  // namespace vtower
