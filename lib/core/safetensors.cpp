#include "core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_strict.h"

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian");

namespace vtower {
namespace {

constexpr std::uint64_t largest_header = 100'000'000;  // the format's own limit

// Bits of one element for names of the format that vtower knows only by size.
std::optional<std::size_t> foreign_bits(const std::string& name) {
  if (name == "C64") return 64;
  if (name.starts_with("F8_")) return 8;
  if (name.starts_with("F6_")) return 6;
  if (name == "F4") return 4;
  return std::nullopt;
}

class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, ErrorKind kind) : path_(path), kind_(kind) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(kind_, "safetensors", path_.string() + ": " + what);
  }

  // Returns the size of length field and header together.
  std::uint64_t header_end(std::span<const std::uint8_t> file) const {
    if (file.size() < 8) {
      fail("has " + std::to_string(file.size()) +
           " bytes, a safetensors file starts with an 8-byte header length; is the download "
           "complete?");
    }
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    if (length == 0 || length > largest_header) {
      fail("header length " + std::to_string(length) + ", expected 1 to " +
           std::to_string(largest_header) + "; is this a safetensors file?");
    }
    if (length > file.size() - 8) {
      fail("header length " + std::to_string(length) + ", only " + std::to_string(file.size() - 8) +
           " bytes follow; is the download complete?");
    }
    return 8 + length;
  }

  TensorView tensor(const std::string& name, const nlohmann::json& entry,
                    std::span<const std::uint8_t> data) const {
    const auto describe = [&](const std::string& what) { fail("tensor " + name + ": " + what); };
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
        !entry.contains("data_offsets") || !entry["dtype"].is_string() ||
        !entry["shape"].is_array() || !entry["data_offsets"].is_array() ||
        entry["data_offsets"].size() != 2) {
      describe("expected {dtype, shape, data_offsets: [begin, end]}");
    }
    TensorView view;
    view.dtype_name = entry["dtype"].get<std::string>();
    view.dtype = dtype_from_safetensors(view.dtype_name);
    std::uint64_t elements = 1;
    for (const auto& side : entry["shape"]) {
      if (!side.is_number_unsigned()) describe("a side of its shape is no whole number >= 0");
      const auto value = side.get<std::uint64_t>();
      if (value != 0 && elements > (std::uint64_t{1} << 58) / value)
        describe("its shape overflows");
      elements *= value;
      view.shape.push_back(static_cast<std::int64_t>(value));
    }
    for (const auto& offset : entry["data_offsets"]) {
      if (!offset.is_number_unsigned()) describe("data_offsets are no whole numbers >= 0");
    }
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
    const auto end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end) describe("data_offsets end before they begin");
    const std::optional<std::size_t> bits =
        view.dtype ? std::optional(size_of(*view.dtype) * 8) : foreign_bits(view.dtype_name);
    if (!bits) describe("unknown element type " + view.dtype_name);
    if (elements * *bits != (end - begin) * 8) {
      describe("shape and type ask for " + std::to_string(elements * *bits / 8) +
               " bytes, data_offsets hold " + std::to_string(end - begin));
    }
    if (end > data.size()) {
      describe("data end at byte " + std::to_string(end) + " of the data section, the file has " +
               std::to_string(data.size()) + ": " + std::to_string(end - data.size()) +
               " bytes are missing; is the download complete?");
    }
    view.bytes = data.subspan(begin, end - begin);
    return view;
  }

  // The tensors must cover the data without overlap, hole or rest.
  void check_cover(const std::map<std::string, TensorView>& tensors,
                   std::span<const std::uint8_t> data) const {
    std::vector<std::pair<const TensorView*, const std::string*>> order;
    order.reserve(tensors.size());
    for (const auto& [name, view] : tensors) order.emplace_back(&view, &name);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first->bytes.data(), a.first->bytes.size()) <
             std::pair(b.first->bytes.data(), b.first->bytes.size());
    });
    std::size_t covered = 0;
    for (const auto& [view, name] : order) {
      const auto begin = static_cast<std::size_t>(view->bytes.data() - data.data());
      if (begin < covered) fail("tensor " + *name + ": its data overlap those of another tensor");
      if (begin > covered) {
        fail("tensor " + *name + ": " + std::to_string(begin - covered) +
             " bytes before its data belong to no tensor");
      }
      covered = begin + view->bytes.size();
    }
    if (covered != data.size()) {
      fail(std::to_string(data.size() - covered) + " bytes after the last tensor belong to none");
    }
  }

 private:
  const std::filesystem::path& path_;
  ErrorKind kind_;
};

[[maybe_unused]] std::uint64_t byte_count(const TensorToWrite& tensor) {
  std::uint64_t count = size_of(tensor.dtype);
  for (const std::int64_t side : tensor.shape) count *= static_cast<std::uint64_t>(side);
  return count;
}

MappedFile map_file(const std::filesystem::path& path, ErrorKind kind) {
  try {
    return MappedFile(path);
  } catch (const Error& error) {
    throw Error(kind, error.context(), error.message());
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path, ErrorKind kind_of_errors)
    : path_(std::move(path)), file_(map_file(path_, kind_of_errors)) {
  const HeaderReader reader(path_, kind_of_errors);
  const std::span<const std::uint8_t> file = file_.bytes();
  const std::uint64_t header_end = reader.header_end(file);
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, header_end - 8);
  if (text.front() != '{') reader.fail("the header does not begin with '{'");
  const nlohmann::json header =
      parse_json_strictly(text, path_.string(), "safetensors", kind_of_errors);
  const std::span<const std::uint8_t> data = file.subspan(header_end);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors_.emplace(name, reader.tensor(name, entry, data));
      continue;
    }
    if (!entry.is_object()) reader.fail("__metadata__ is no object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) reader.fail("__metadata__." + key + " is no string");
      metadata_.emplace(key, value.get<std::string>());
    }
  }
  reader.check_cover(tensors_, data);
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
    return std::pair(size_of(b.dtype), a.name) < std::pair(size_of(a.dtype), b.name);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    std::uint64_t size = 0;
    for (const auto& part : tensor.parts) size += part.size();
    assert(size == byte_count(tensor));
    header[tensor.name] = {{"dtype", safetensors_name(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();

  AtomicFile file(path);
  file.write({reinterpret_cast<const std::uint8_t*>(&length), sizeof(length)});
  file.write(text);
  for (const TensorToWrite& tensor : tensors) {
    for (const auto& part : tensor.parts) file.write(part);
  }
  file.commit();
}

}  // namespace vtower
