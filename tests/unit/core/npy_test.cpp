#include "core/npy.h"

#include <archive.h>
#include <archive_entry.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "core/error.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/temp_dir.h"

using namespace vtower;

namespace {

std::filesystem::path npy(const std::string& name) {
  return test::golden("npy/" + name);
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

float half(std::uint16_t bits) {  // positive, normal or zero
  return bits == 0 ? 0 : std::ldexp(1.0F + (bits & 1023) / 1024.0F, (bits >> 10) - 15);
}

template <typename T>
double element(const NpyArray& array, std::size_t i) {
  T value{};
  std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double value_at(const NpyArray& array, std::size_t i) {
  switch (array.dtype) {
    case DType::boolean:
    case DType::u8: return element<std::uint8_t>(array, i);
    case DType::i8: return element<std::int8_t>(array, i);
    case DType::u16: return element<std::uint16_t>(array, i);
    case DType::i16: return element<std::int16_t>(array, i);
    case DType::u32: return element<std::uint32_t>(array, i);
    case DType::i32: return element<std::int32_t>(array, i);
    case DType::u64: return element<std::uint64_t>(array, i);
    case DType::i64: return element<std::int64_t>(array, i);
    case DType::f16: return half(static_cast<std::uint16_t>(element<std::uint16_t>(array, i)));
    case DType::f32: return element<float>(array, i);
    case DType::f64: return element<double>(array, i);
    case DType::bf16: break;
  }
  return -1;
}

// 0, 1, 2, ... in C order, as every array of tests/golden/npy holds.
bool is_ramp(const NpyArray& array) {
  std::int64_t count = 1;
  for (const std::int64_t extent : array.shape) count *= extent;
  if (array.bytes.size() != static_cast<std::size_t>(count) * size_of(array.dtype)) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (value_at(array, i) != static_cast<double>(i)) return false;
  }
  return true;
}

using Shape = std::vector<std::int64_t>;

struct Refusal {
  std::string kind = "accepted";
  std::string message;
};

Refusal refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    return {std::string(to_string(error.kind())), error.message()};
  }
  return {};
}

Refusal refusal_of(const std::string& bytes) {
  const test::TempDir dir;
  const auto path = dir.write("case.npy", bytes);
  const Refusal found = refusal([&] { read_npy(path); });
  if (found.kind != "accepted") CHECK(found.message.find("case.npy") != std::string::npos);
  return found;
}

Refusal refusal_of_zip(const std::string& bytes) {
  const test::TempDir dir;
  const auto path = dir.write("case.npz", bytes);
  return refusal([&] { read_npz(path); });
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string version_1(const std::string& header, const std::string& data) {
  std::string file("\x93NUMPY\x01\0", 8);
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  return file + header + data;
}

std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

// A zip of these members, in order.
std::string zip(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string file(1 << 20, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  archive_write_open_memory(writer, file.data(), file.size(), &used);
  for (const auto& [name, bytes] : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(writer, entry);
    archive_write_data(writer, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return file.substr(0, used);
}

}  // namespace

TEST_CASE("every element type of NumPy's files is read") {
  const std::vector<std::pair<std::string, DType>> types{
      {"u1", DType::u8},  {"i1", DType::i8},  {"u2", DType::u16}, {"i2", DType::i16},
      {"u4", DType::u32}, {"i4", DType::i32}, {"u8", DType::u64}, {"i8", DType::i64},
      {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};
  for (const auto& [code, dtype] : types) {
    CAPTURE(code);
    const NpyArray array = read_npy(npy("c_" + code + ".npy"));
    CHECK(array.dtype == dtype);
    CHECK(array.shape == Shape{3, 4});
    CHECK(is_ramp(array));
  }
  const NpyArray truth = read_npy(npy("bool.npy"));
  CHECK(truth.dtype == DType::boolean);
  CHECK(value_at(truth, 4) == 0);
  CHECK(value_at(truth, 5) == 1);
}

TEST_CASE("big-endian files are swapped (R94)") {
  for (const std::string code : {"f2", "f4", "f8", "i8"}) {
    CAPTURE(code);
    const NpyArray array = read_npy(npy("big_" + code + ".npy"));
    CHECK(array.descr == ">" + code);
    CHECK(is_ramp(array));
  }
}

TEST_CASE("fortran_order is obeyed (R92)") {
  const NpyArray two = read_npy(npy("fortran_2d.npy"));
  CHECK(two.fortran_order);
  CHECK(two.shape == Shape{40, 7});
  CHECK(is_ramp(two));
  const NpyArray three = read_npy(npy("fortran_3d_big.npy"));
  CHECK(three.fortran_order);
  CHECK(three.shape == Shape{3, 4, 5});
  CHECK(is_ramp(three));
}

TEST_CASE("V2 is refused with what it is (R91)") {
  const Refusal found = refusal([] { read_npy(npy("refused_v2.npy")); });
  CHECK(found.kind == "unsupported");
  CHECK(mentions(found.message, "no bfloat16"));
  CHECK(mentions(found.message, "'|V2'"));
  CHECK(refusal_of(version_1(dict("<V2", "(1,)"), "ab")).kind == "unsupported");
}

TEST_CASE("other element types are refused") {
  for (const std::string name : {"complex", "text", "object", "fields"}) {
    CAPTURE(name);
    CHECK(refusal([&] { read_npy(npy("refused_" + name + ".npy")); }).kind == "unsupported");
  }
  for (const std::string descr : {"f4", "=f4", "|f4", "<f16", "", "<", "<f", "<m8[ns]"}) {
    CAPTURE(descr);
    CHECK(refusal_of(version_1(dict(descr, "(1,)"), "abcd")).kind == "unsupported");
  }
}

TEST_CASE("scalars, empty arrays and the later versions are read") {
  const NpyArray scalar = read_npy(npy("scalar.npy"));
  CHECK(scalar.shape.empty());
  CHECK(scalar.bytes.size() == 4);
  const NpyArray empty = read_npy(npy("empty.npy"));
  CHECK(empty.shape == Shape{0, 7});
  CHECK(empty.bytes.size() == 0);
  CHECK(is_ramp(read_npy(npy("version_2.npy"))));
  CHECK(is_ramp(read_npy(npy("version_3.npy"))));
  CHECK(read_npy(test::golden("media/pixels/rows/qwen2-small-vllm-exif_6.jpg.npy")).dtype ==
        DType::u8);
}

TEST_CASE("damaged .npy files are refused with their reason") {
  CHECK(refusal_of(version_1(dict("<f4", "(1,)"), "abcd")).kind == "accepted");
  CHECK(refusal_of("").kind == "truncated");
  CHECK(refusal_of("some text that is no array").kind == "unreadable");
  CHECK(refusal_of(std::string("\x93NUMPY\x04\0\x10\0", 10)).kind == "unsupported");
  CHECK(mentions(refusal_of(version_1(dict("<f4", "(2,)"), "abcd")).message,
                 "asks for 8 bytes, 4 follow"));
  CHECK(mentions(refusal_of(version_1(dict("<f4", "(1,)"), "abcdefgh")).message,
                 "4 bytes after the array"));
  CHECK(mentions(refusal_of(version_1(dict("<f4", "(4294967296, 4294967296, 2)"), "")).message,
                 "overflows"));
  CHECK(refusal_of(version_1(dict("<f4", "(1099511627776,)"), "abcd")).kind == "truncated");
  CHECK(mentions(refusal_of(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)).message,
                 "header of 4294967295 bytes"));
  const std::string rest = "'fortran_order': False, 'shape': (1,)";
  for (const std::string& header : std::vector<std::string>{
           "", "{", "{}", "[]", "{'descr': '<f4'}", "{" + rest + "}", "{'descr': '<f4', " + rest,
           "{'descr': '<f4', " + rest + "} x", "{'descr': '<f4', 'descr': '<f4', " + rest + "}",
           "{'descr': '<f4', 'other': 1, " + rest + "}", "{'descr': <f4, " + rest + "}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"}) {
    CAPTURE(header);
    CHECK(refusal_of(version_1(header, "abcd")).kind == "unreadable");
  }
  const test::TempDir dir;
  CHECK(refusal([&] { read_npy(dir.path()); }).kind == "unreadable");
  CHECK(refusal([&] { read_npy(dir.path() / "none.npy"); }).kind == "unreadable");
  CHECK(refusal([] { read_npy(npy("c_f8.npy"), {95}); }).kind == "too_large");
  CHECK(refusal([] { read_npy(npy("c_f8.npy"), {96}); }).kind == "accepted");
}

TEST_CASE("members of .npz files are read, stored and deflated") {
  for (const std::string name : {"stored.npz", "deflated.npz"}) {
    CAPTURE(name);
    const auto arrays = read_npz(npy(name));
    REQUIRE(arrays.size() == 3);
    CHECK(arrays.at("pixels").dtype == DType::u8);
    CHECK(arrays.at("pixels").shape == Shape{6, 8});
    CHECK(arrays.at("values").fortran_order);
    CHECK(arrays.at("grid_thw").dtype == DType::i64);
    for (const auto& [key, array] : arrays) CHECK(is_ramp(array));
    CHECK(refusal([&] { read_npz(npy(name), {1215}); }).kind == "too_large");
    CHECK(refusal([&] { read_npz(npy(name), {1216}); }).kind == "accepted");
  }
}

TEST_CASE("damaged .npz files are refused with their reason") {
  const std::string array = version_1(dict("<f4", "(1,)"), "abcd");
  CHECK(refusal_of_zip(zip({{"a.npy", array}, {"b.npy", array}})).kind == "accepted");
  CHECK(refusal_of_zip("").kind == "truncated");
  CHECK(refusal_of_zip("some text that is no zip").kind == "unreadable");
  CHECK(refusal_of_zip(bytes_of(npy("c_f4.npy"))).kind == "unreadable");
  CHECK(mentions(refusal_of_zip(zip({{"a.txt", array}})).message, "member 'a.txt': is no .npy"));
  CHECK(mentions(refusal_of_zip(zip({{"a.npy", array}, {"a.npy", array}})).message, "twice"));
  CHECK(mentions(refusal_of_zip(zip({{"a.npy", "text"}})).message, "member 'a.npy'"));
  CHECK(refusal_of_zip(zip({})).kind == "unreadable");

  std::string wrong_data = bytes_of(npy("stored.npz"));
  const std::size_t data = wrong_data.find("}", wrong_data.find("NUMPY")) + 100;
  wrong_data[data] = static_cast<char>(wrong_data[data] ^ 1);
  CHECK(mentions(refusal_of_zip(wrong_data).message, "CRC"));
}

TEST_CASE("no cut of a file is accepted") {
  const std::string single = bytes_of(npy("fortran_3d_big.npy"));
  for (std::size_t size = 0; size < single.size(); ++size) {
    CHECK(refusal_of(single.substr(0, size)).kind != "accepted");
  }
  const std::string archive = bytes_of(npy("deflated.npz"));
  for (std::size_t size = 0; size < archive.size(); ++size) {
    CHECK(refusal_of_zip(archive.substr(0, size)).kind != "accepted");
  }
}

TEST_CASE("random damage ends in an error or in an array, never in a crash") {
  std::mt19937 random(11);
  for (const std::string name : {"fortran_2d.npy", "stored.npz", "deflated.npz"}) {
    const std::string whole = bytes_of(npy(name));
    for (int round = 0; round < 1000; ++round) {
      std::string damaged = whole;
      for (unsigned hits = 1 + random() % 4; hits > 0; --hits) {
        // Half of the hits go where headers are.
        const std::size_t at = random() % (random() % 2 == 0 ? 128 : damaged.size());
        damaged[at] = static_cast<char>(random());
      }
      name.ends_with("npz") ? refusal_of_zip(damaged) : refusal_of(damaged);
    }
  }
}
