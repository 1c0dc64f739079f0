#include "core/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/file.h"
#include "core/npy_stream.h"

namespace vtower {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t most_header_bytes = 1 << 20;
constexpr std::size_t most_dimensions = 64;  // NumPy's own limit

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

[[noreturn]] void refuse(ErrorKind kind, const std::string& name, const std::string& why) {
  throw Error(kind, "npy", name + ": " + why);
}

// The header is a Python dictionary of three keys; only the literals that NumPy writes are read.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header parse() {
    Header header;
    std::set<std::string> seen;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      if (!seen.insert(key).second) fail("key '" + key + "' is there twice");
      expect(':');
      if (key == "descr") {
        header.descr = descr();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        fail("unknown key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty()) fail("text after the dictionary");
    if (seen.size() != 3) fail("expected the keys descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    refuse(ErrorKind::unreadable, name_, "header of the array: " + why);
  }

  void skip_space() {
    const std::size_t end = text_.find_first_not_of(" \t\n");
    text_.remove_prefix(std::min(end, text_.size()));
  }

  bool accept(char wanted) {
    skip_space();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) {
      fail(std::string("expected '") + wanted + "', found " +
           (text_.empty() ? "the end" : "'" + std::string(text_.substr(0, 12)) + "'"));
    }
  }

  std::string string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) fail("a string without an end");
    std::string found(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return found;
  }

  std::string descr() {
    skip_space();
    if (!text_.empty() && text_.front() == '[') {
      refuse(ErrorKind::unsupported, name_,
             "elements are structures of several fields; expected one number each");
    }
    return string();
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return word == "True";
      }
    }
    fail("fortran_order: expected True or False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      std::int64_t size = 0;
      skip_space();
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0) fail("shape: expected whole numbers from 0");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      shape.push_back(size);
      if (shape.size() > most_dimensions) fail("more than 64 dimensions");
      if (!accept(',')) {
        if (shape.size() == 1) fail("shape: expected a tuple, found a number in brackets");
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& name_;
};

struct ElementType {
  DType dtype = DType::f32;
  bool swapped = false;  // big-endian
};

ElementType element_type(const std::string& descr, const std::string& name) {
  struct Row {
    std::string_view code;
    DType dtype;
  };
  constexpr std::array<Row, 12> known{{{"b1", DType::boolean},
                                       {"u1", DType::u8},
                                       {"i1", DType::i8},
                                       {"u2", DType::u16},
                                       {"i2", DType::i16},
                                       {"u4", DType::u32},
                                       {"i4", DType::i32},
                                       {"u8", DType::u64},
                                       {"i8", DType::i64},
                                       {"f2", DType::f16},
                                       {"f4", DType::f32},
                                       {"f8", DType::f64}}};
  const char order = descr.empty() ? ' ' : descr.front();
  const std::string_view code = descr.empty() ? descr : std::string_view(descr).substr(1);
  if (code == "V2") {
    refuse(ErrorKind::unsupported, name,
           "elements are '" + descr +
               "', two bytes without a meaning: .npy has no bfloat16, and this is what becomes of "
               "it; save float32, or bfloat16 as safetensors");
  }
  for (const Row& row : known) {
    if (row.code != code) continue;
    const bool single_byte = size_of(row.dtype) == 1;
    if (order == '<' || order == '>' || (order == '|' && single_byte)) {
      return {row.dtype, order == '>' && !single_byte};
    }
  }
  refuse(ErrorKind::unsupported, name,
         "elements are '" + descr + "'; expected whole or floating point numbers, as '<f4'");
}

// Empty where the product overflows.
std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t>& shape, std::size_t size) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t bytes = size;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return {};
  }
  return bytes;
}

void swap_bytes(ByteBuffer& bytes, std::size_t size) {
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    std::reverse(bytes.data() + i, bytes.data() + i + size);
  }
}

// From first index fastest to last index fastest.
ByteBuffer in_c_order(const ByteBuffer& fortran, const std::vector<std::int64_t>& shape,
                      std::size_t size) {
  std::vector<std::size_t> strides;  // in bytes of the Fortran-ordered array
  std::size_t stride = size;
  for (const std::int64_t extent : shape) {
    strides.push_back(stride);
    stride *= static_cast<std::size_t>(extent);
  }
  ByteBuffer ordered(fortran.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  const std::uint8_t* source = fortran.data();
  for (std::size_t target = 0; target < ordered.size(); target += size) {
    std::memcpy(ordered.data() + target, source, size);
    for (std::size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return ordered;
}

Header read_header(NpyStream& stream, const std::string& name) {
  const auto read = [&](std::uint64_t count) {
    if (stream.left() < count) {
      refuse(ErrorKind::truncated, name,
             "ends in the header of the array: " + std::to_string(count) + " bytes expected, " +
                 std::to_string(stream.left()) + " there");
    }
    std::string bytes(count, '\0');
    stream.read({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    return bytes;
  };
  if (stream.left() == 0) refuse(ErrorKind::truncated, name, "is empty, expected an .npy array");
  const std::string start = read(magic.size() + 2);
  if (!start.starts_with(magic)) refuse(ErrorKind::unreadable, name, "is no .npy file");
  const int major = static_cast<std::uint8_t>(start[magic.size()]);
  if (major < 1 || major > 3 || start.back() != 0) {
    refuse(ErrorKind::unsupported, name,
           "version " + std::to_string(major) + "." +
               std::to_string(static_cast<std::uint8_t>(start.back())) +
               " of .npy; versions 1.0 to 3.0 are read");
  }
  std::uint64_t length = 0;
  const std::string field = read(major == 1 ? 2 : 4);
  for (std::size_t i = field.size(); i-- > 0;) {
    length = length << 8 | static_cast<std::uint8_t>(field[i]);
  }
  if (length > most_header_bytes) {
    refuse(ErrorKind::unreadable, name,
           "header of " + std::to_string(length) + " bytes; expected at most " +
               std::to_string(most_header_bytes));
  }
  const std::string text = read(length);
  return HeaderParser(text, name).parse();
}

class MappedStream : public NpyStream {
 public:
  explicit MappedStream(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t left() const override { return bytes_.size(); }
  void read(std::span<std::uint8_t> target) override {
    std::copy_n(bytes_.begin(), target.size(), target.begin());
    bytes_ = bytes_.subspan(target.size());
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace

NpyArray read_npy_stream(NpyStream& stream, const std::string& name, std::uint64_t allowed) {
  Header header = read_header(stream, name);
  const ElementType element = element_type(header.descr, name);
  const std::size_t size = size_of(element.dtype);
  const std::optional<std::uint64_t> bytes = byte_count(header.shape, size);
  if (!bytes) refuse(ErrorKind::unreadable, name, "the shape overflows 64 bits");
  if (*bytes > stream.left()) {
    refuse(ErrorKind::truncated, name,
           "the shape asks for " + std::to_string(*bytes) + " bytes, " +
               std::to_string(stream.left()) + " follow the header");
  }
  if (*bytes < stream.left()) {
    refuse(ErrorKind::unreadable, name,
           std::to_string(stream.left() - *bytes) + " bytes after the array");
  }
  if (*bytes > allowed) {
    refuse(ErrorKind::too_large, name,
           "an array of " + std::to_string(*bytes) + " bytes, at most " + std::to_string(allowed) +
               " are allowed here");
  }
  ByteBuffer data(static_cast<std::size_t>(*bytes));
  stream.read({data.data(), data.size()});
  if (element.swapped) swap_bytes(data, size);
  if (header.fortran_order && header.shape.size() > 1) {
    data = in_c_order(data, header.shape, size);
  }
  return {element.dtype, std::move(header.shape), std::move(data), std::move(header.descr),
          header.fortran_order};
}

NpyArray read_npy(const std::filesystem::path& path, const NpyLimits& limits) {
  const MappedFile file(path);
  MappedStream stream(file.bytes());
  return read_npy_stream(stream, path.string(), limits.max_bytes);
}

}  // namespace vtower
