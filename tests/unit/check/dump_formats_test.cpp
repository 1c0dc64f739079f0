// Kinds of files: arrays, connector folders, those that a script converts, damaged ones.
#include <cmath>
#include <random>

#include "array_files.h"
#include "dump_files.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;
using namespace vtower::test;

namespace {

std::string reversed(std::string bytes, std::size_t size) {
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
  return bytes;
}

// [16, 16] values of a normal distribution.
std::string gaussian(DType type) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    const float value = normal(random);
    if (type == DType::f64) {
      const double wide = static_cast<double>(value) * 1.000000119;
      bytes.append(reinterpret_cast<const char*>(&wide), 8);
    } else if (type == DType::f32) {
      bytes.append(reinterpret_cast<const char*>(&value), 4);
    } else {
      const int exponent = std::ilogb(value);
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const std::uint32_t half = (exponent + 15 > 0 ? (exponent + 15) << 10 : 0) |
                                 (bits >> 13 & 1023) | (bits >> 16 & 0x8000);
      const auto narrow = static_cast<std::uint16_t>(type == DType::bf16 ? bits >> 16 : half);
      bytes.append(reinterpret_cast<const char*>(&narrow), 2);
    }
  }
  return bytes;
}

std::vector<std::uint8_t> raw(const std::string& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("an .npy is one item, in C order and little-endian whatever it held") {  // R92, R94
  const Dump fortran = Dump::open(golden("npy/fortran_2d.npy"), {});
  REQUIRE(fortran.items().size() == 1);
  CHECK(fortran.items()[0].embeddings.rows == 40);
  const std::vector<float> ramp = values(fortran.items()[0].embeddings);
  for (std::size_t i = 0; i < ramp.size(); ++i) REQUIRE(ramp[i] == static_cast<float>(i));
  const Dump big = Dump::open(golden("npy/big_f4.npy"), {});
  CHECK(bytes_of(big.items()[0].embeddings) ==
        bytes_of(Dump::open(golden("npy/c_f4.npy"), {}).items()[0].embeddings));
  CHECK(Dump::open(golden("npy/c_f2.npy"), {}).dtype() == DType::f16);
  CHECK(Dump::open(golden("npy/c_f8.npy"), {}).dtype() == DType::f64);
  CHECK(Dump::open(golden("npy/c_f8.npy"), {"", "block.3"}).stage() == "block.3");
  for (const char* name : {"c_u1", "c_i8", "bool", "scalar", "refused_complex", "refused_object"}) {
    CAPTURE(name);
    CHECK(outcome(golden(std::string("npy/") + name + ".npy")).starts_with("unsupported: "));
  }
}

TEST_CASE("bfloat16 in .npy says what became of it") {  // R91
  const std::string found = outcome(golden("npy/refused_v2.npy"));
  CHECK(found.starts_with("unsupported: "));
  CHECK(says(found, "bfloat16"));
}

TEST_CASE("the members of an .npz are tensors by name") {
  const TempDir folder;
  const std::string rows = npy_bytes<float>("<f4", 3, 2, {1, 2, 3, 4, 5, 6});
  const std::string big = npy_bytes<std::uint32_t>(">f4", 3, 1, {0x803f, 0x0040, 0x4040});
  const std::string grids = npy_bytes<std::int64_t>("<i8", 2, 3, {1, 2, 4, 1, 2, 2});
  const std::filesystem::path path = folder.write(
      "a.npz", npz_bytes({{"embeddings", rows}, {"deepstack.0", big}, {"grid_thw", grids}}));
  const Dump dump = Dump::open(path, {});
  REQUIRE(dump.items().size() == 2);
  CHECK(values(dump.items()[0].embeddings) == std::vector<float>{1, 2, 3, 4});
  CHECK(values(dump.items()[1].embeddings) == std::vector<float>{5, 6});
  CHECK(values(dump.items()[0].deepstack.at(0)) == std::vector<float>{1, 2});
  CHECK(values(dump.items()[1].deepstack.at(0)) == std::vector<float>{3});
  CHECK(*dump.items()[1].grid == GridThw{1, 2, 2});
  CHECK_FALSE(dump.has_keys());

  const std::filesystem::path other = golden("npy/deflated.npz");  // pixels, values, grid_thw
  CHECK(outcome(other).starts_with("not_comparable: "));
  CHECK(says(outcome(other, {"values", ""}), "sides from 1"));  // its grids are 0..5
  CHECK(outcome(golden("npy/absent.npz")).starts_with("unreadable: "));
}

TEST_CASE("names that say nothing are read by content") {
  const TempDir folder;
  const std::string array = npy_bytes<float>("<f4", 2, 2, {1, 2, 3, 4});
  CHECK(outcome(folder.write("array", array)) == "accepted");
  CHECK(outcome(folder.write("upper.NPY", array)) == "accepted");
  const std::filesystem::path safe =
      DumpFile().rows("embeddings", {2, 2}).write(folder.path() / "a.safetensors");
  CHECK(outcome(folder.write("odd.dump", file_bytes(safe))) == "accepted");
  const std::string zip = file_bytes(golden("npy/stored.npz"));
  CHECK(outcome(folder.write("zip", zip)).starts_with("not_comparable: "));
  CHECK(outcome(folder.write("text.txt", "hello")).starts_with("unsupported: "));
  CHECK(outcome(folder.write("nothing", "")).starts_with("unsupported: "));
}

TEST_CASE("what a script converts names the script") {
  const TempDir folder;
  for (const char* name : {"a.pt", "a.pth", "a.bin", "A.PT"}) {
    const std::string found = outcome(folder.write(name, "PK\x03\x04 archive/data.pkl"));
    CHECK(found.starts_with("unsupported: "));
    CHECK(says(found, "scripts/convert_pt.py"));
  }
  CHECK(says(outcome(folder.write("x", "PK\x03\x04 archive/data.pkl")), "scripts/convert_pt.py"));
  CHECK(outcome(folder.path() / "absent.pt").starts_with("unreadable: "));

  const std::int32_t sides[2] = {2, 3};
  std::string array(reinterpret_cast<const char*>(sides), 8);
  array.append(2 * 3 * 4, '\x3f');
  for (const char* name : {"emb.bin", "emb", "emb.f32"}) {
    CHECK(says(outcome(folder.write(name, array)), "scripts/convert_mtmd.py"));
  }
  CHECK(says(outcome(folder.write("log.txt", "=== MTMD_DEBUG_EMBEDDINGS ===\nShape: [3, 2]\n")),
             "scripts/convert_mtmd.py"));
  CHECK_FALSE(says(outcome(folder.write("emb.dat", array + "x")), "scripts/convert_mtmd.py"));
}

TEST_CASE("folders that are no connector's are refused by name") {
  const TempDir folder;
  const std::string found = outcome(folder.path());
  CHECK(found.starts_with("unreadable: " + folder.path().string()));
  CHECK(says(found, "HASH/encoder_cache.safetensors"));
  std::filesystem::create_directories(folder.path() / "b");
  std::filesystem::create_directories(folder.path() / "empty");
  folder.write("notes.txt", "no folder");
  DumpFile().rows("ec_cache", {3, 2}).write(folder.path() / "b" / "encoder_cache.safetensors");
  const Dump dump = Dump::open(folder.path(), {});
  CHECK(dump.items().size() == 1);
  CHECK(dump.find("b") != nullptr);
  CHECK(Dump::open(folder.path() / "b" / "", {}).find("b") != nullptr);
  CHECK(Dump::open(folder.path() / "b" / "encoder_cache.safetensors", {}).find("#0") != nullptr);

  std::filesystem::create_directories(folder.path() / "a");
  const auto cut = folder.path() / "a" / "encoder_cache.safetensors";
  DumpFile().rows("ec_cache", {3, 2}).write(cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 4);
  CHECK(outcome(folder.path()).starts_with("unreadable: " + cut.string()));
  CHECK(outcome(folder.path(), {"", "", 2}).starts_with("unreadable: "));
}

TEST_CASE("values in the other byte order are remarked upon") {  // R94
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(to_string(type));
    const std::string good = gaussian(type);
    DumpFile().bytes("embeddings", type, {16, 16}, raw(good)).write(path);
    CHECK_FALSE(notes_say(Dump::open(path, {}), "order"));
    DumpFile().bytes("embeddings", type, {16, 16}, raw(reversed(good, size_of(type)))).write(path);
    CHECK(notes_say(Dump::open(path, {}), "order"));
  }
  // float32 that was bfloat16: swapped, all of it is denormal
  const std::string narrow = gaussian(DType::bf16);
  std::string widened;
  for (std::size_t i = 0; i < narrow.size(); i += 2) {
    widened += std::string(2, '\0') + narrow.substr(i, 2);
  }
  DumpFile().bytes("embeddings", DType::f32, {16, 16}, raw(widened)).write(path);
  CHECK_FALSE(notes_say(Dump::open(path, {}), "order"));
  DumpFile().bytes("embeddings", DType::f32, {16, 16}, raw(reversed(widened, 4))).write(path);
  CHECK(notes_say(Dump::open(path, {}), "denormal"));
  DumpFile().rows("embeddings", {16, 16}, 0).write(path);
  CHECK_FALSE(notes_say(Dump::open(path, {}), "order"));
  DumpFile().bytes("embeddings", DType::f32, {16, 16}, raw(std::string(1024, '\0'))).write(path);
  CHECK(Dump::open(path, {}).notes().size() == 2);  // no record, one item
  DumpFile().bytes("embeddings", DType::f32, {16, 16}, raw(std::string(1024, '\xff'))).write(path);
  CHECK(Dump::open(path, {}).notes().size() == 2);
}

TEST_CASE("bytes that belong to no tensor, and headers of any length") {  // R109, R110
  const TempDir folder;
  const std::filesystem::path path =
      DumpFile().rows("embeddings", {2, 2}).write(folder.path() / "a.safetensors");
  const std::string good = file_bytes(path);
  const auto found = [&](const std::string& bytes) {
    return outcome(folder.write("b.safetensors", bytes));
  };
  const auto with_header = [](std::string header, const std::string& data, std::uint64_t length) {
    return std::string(reinterpret_cast<const char*>(&length), 8) + std::move(header) + data;
  };
  std::uint64_t length = 0;
  std::memcpy(&length, good.data(), 8);
  const std::string header = good.substr(8, length);
  const std::string data = good.substr(8 + length);
  CHECK(found(good) == "accepted");
  CHECK(found(good + std::string(16, 'x')).starts_with("unreadable: "));
  CHECK(found(with_header(header, std::string(4, 'x') + data, length)).starts_with("unreadable: "));
  for (const std::size_t padded : {99'990, 100'000, 100'010, 8 << 20}) {
    std::string longer = header;
    longer.resize(padded, ' ');
    CHECK(found(with_header(longer, data, padded)) == "accepted");
  }
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0},
                                    std::uint64_t{200'000'000}, length + 17}) {
    CHECK(found(with_header(header, data, wrong)).starts_with("unreadable: "));
  }
  DumpFile().rows("embeddings", {2, 2}).header("note", "größe 図").rows("图", {1}).write(path);
  CHECK(outcome(path) == "accepted");
}
