#include "core/safetensors.h"

#include <cstring>
#include <functional>

#include "support/doctest.h"
#include "support/golden.h"
#include "support/temp_dir.h"

using namespace vtower;

namespace {

std::string with_header(const std::string& header, const std::string& data) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

std::string refusal(const std::string& bytes) {
  const test::TempDir dir;
  const auto path = dir.write("case.safetensors", bytes);
  try {
    const SafetensorsFile file(path, ErrorKind::checkpoint);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::checkpoint);
    CHECK(error.message().find("case.safetensors") != std::string::npos);
    return error.message();
  }
  return "accepted";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string one = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";

}  // namespace

TEST_CASE("what is written is read back, aligned and with its metadata") {
  const test::TempDir dir;
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  const std::vector<std::int64_t> numbers{-1, 1L << 40};
  write_safetensors(
      dir.path() / "x.safetensors",
      {{"bytes", DType::u8, {3, 1}, {{bytes.data(), 1}, {bytes.data() + 1, 2}}},
       {"numbers", DType::i64, {2}, {{reinterpret_cast<const std::uint8_t*>(numbers.data()), 16}}},
       {"none", DType::f32, {0, 7}, {}}},
      {{"format", "pt"}, {"note", "\"quoted\" and ü"}});
  const SafetensorsFile file(dir.path() / "x.safetensors", ErrorKind::unreadable);
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.metadata().at("note") == "\"quoted\" and ü");
  const TensorView* read = file.find("numbers");
  REQUIRE(read != nullptr);
  CHECK(read->dtype == DType::i64);
  CHECK(read->shape == std::vector<std::int64_t>{2});
  CHECK(std::memcmp(read->bytes.data(), numbers.data(), 16) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(read->bytes.data()) % 8 == 0);
  CHECK(file.find("bytes")->bytes[2] == 3);
  CHECK(file.find("none")->bytes.empty());
  CHECK(file.find("absent") == nullptr);
}

TEST_CASE("nothing appears under the final name before commit") {
  const test::TempDir dir;
  {
    AtomicFile file(dir.path() / "out");
    file.write("half");
    CHECK_FALSE(std::filesystem::exists(dir.path() / "out"));
  }
  CHECK(std::filesystem::is_empty(dir.path()));
  CHECK_THROWS_AS(AtomicFile(dir.path() / "absent" / "out"), Error);
  CHECK_THROWS_AS(AtomicFile(dir.path()), Error);
}

TEST_CASE("files of other writers are read") {
  const SafetensorsFile file(test::golden("towers/cases/qwen2_vl/single.input.safetensors"),
                             ErrorKind::unreadable);
  CHECK(file.find("pixels")->shape == std::vector<std::int64_t>{96, 1176});
}

TEST_CASE("damaged files are refused with their reason") {
  CHECK(refusal(with_header(one, "abcd")) == "accepted");
  CHECK(refusal(with_header(one + "   ", "abcd")) == "accepted");
  CHECK(mentions(refusal(""), "0 bytes"));
  CHECK(mentions(refusal("1234567"), "7 bytes"));
  CHECK(mentions(refusal(std::string(8, '\0') + "{}"), "header length 0"));
  CHECK(mentions(refusal(std::string(7, '\0') + "\x80{}"), "9223372036854775808"));
  CHECK(mentions(refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10)), "only 2 bytes follow"));
  CHECK(mentions(refusal(with_header(one, "abc")), "1 bytes are missing"));
  CHECK(mentions(refusal(with_header(one, "abcdefgh")), "4 bytes after the last tensor"));
  CHECK(mentions(refusal(with_header("[]", "")), "begin with '{'"));
  CHECK(mentions(refusal(with_header("{]", "")), "invalid JSON"));
  CHECK(mentions(refusal(with_header("{\"a\xff\":1}", "")), "invalid JSON"));
  CHECK(mentions(refusal(with_header(R"({"a":1})", "")), "expected {dtype"));
  CHECK(mentions(refusal(with_header(R"({"__metadata__":{"x":1}})", "")), "is no string"));
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return R"("x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
           "}";
  };
  CHECK(mentions(
      refusal(with_header(
          "{" + entry("U8", "[4]", "[0,4]") + "," + entry("U8", "[4]", "[0,4]") + "}", "abcd")),
      "duplicate key"));
  CHECK(mentions(refusal(with_header("{" + entry("F32", "[4]", "[0,4]") + "}", "abcd")),
                 "ask for 16 bytes, data_offsets hold 4"));
  CHECK(mentions(refusal(with_header("{" + entry("Q4", "[4]", "[0,4]") + "}", "abcd")),
                 "unknown element type Q4"));
  CHECK(mentions(refusal(with_header("{" + entry("U8", "[-4]", "[0,4]") + "}", "abcd")),
                 "no whole number"));
  CHECK(mentions(refusal(with_header("{" + entry("U8", "[4]", "[4,0]") + "}", "abcd")),
                 "end before they begin"));
  CHECK(mentions(
      refusal(with_header("{" + entry("U8", "[4294967296,4294967296,2]", "[0,4]") + "}", "abcd")),
      "overflows"));
  CHECK(mentions(refusal(with_header(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)" +
                                         entry("U8", "[2]", "[2,4]") + "}",
                                     "abcd")),
                 "overlap"));
  CHECK(mentions(refusal(with_header("{" + entry("U8", "[2]", "[2,4]") + "}", "abcd")),
                 "2 bytes before its data"));
}

TEST_CASE("the length field decides, whatever the size of the header") {
  for (const std::size_t size : {99'990UL, 100'000UL, 100'010UL, 8UL << 20}) {
    CHECK(refusal(with_header(one + std::string(size - one.size(), ' '), "abcd")) == "accepted");
  }
}

TEST_CASE("deep nesting does not overflow the stack") {
  std::string deep = "{\"a\":";
  deep += std::string(1'000'000, '[');
  CHECK(mentions(refusal(with_header(deep, "")), "64 levels"));
}

TEST_CASE("a directory, a missing file and a FIFO are refused") {
  const test::TempDir dir;
  CHECK_THROWS_AS(SafetensorsFile(dir.path(), ErrorKind::checkpoint), Error);
  CHECK_THROWS_AS(SafetensorsFile(dir.path() / "none", ErrorKind::checkpoint), Error);
}
