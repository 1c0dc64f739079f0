// Dumps cut and flipped at many places: they open or an Error says why; nothing else comes out.
#include <random>

#include "array_files.h"
#include "dump_files.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;
using namespace vtower::test;

namespace {

// What an opened dump promises to those who read it.
bool opens(const std::filesystem::path& path, const DumpOptions& options) {
  try {
    const Dump dump = Dump::open(path, options);
    std::size_t touched = 0;
    for (const DumpItem& item : dump.items()) {
      REQUIRE(dump.find(item.key) != nullptr);
      REQUIRE(item.embeddings.rows > 0);
      std::vector<TokenRows> all = item.deepstack;
      all.push_back(item.embeddings);
      for (const TokenRows& rows : all) {
        REQUIRE(rows.rows == item.embeddings.rows);
        for (const char byte : bytes_of(rows)) touched += static_cast<unsigned char>(byte) + 1U;
      }
    }
    REQUIRE((touched > 0 || dump.items().empty()));
    return true;
  } catch (const Error& error) {
    REQUIRE_FALSE(error.message().empty());
    return false;
  }
}

std::string small_dump(const TempDir& folder) {
  const nlohmann::json record{
      {"items",
       {{{"path", "a.png"}, {"sha256", "x"}, {"grid_thw", {1, 4, 4}}, {"tokens", 4}},
        {{"path", "b.png"}, {"sha256", "y"}, {"grid_thw", {1, 2, 4}}, {"tokens", 2}}}}};
  return file_bytes(DumpFile()
                        .rows("embeddings", {6, 6})
                        .rows("block.0", {24, 2})
                        .rows("image_embeds.0", {4, 2})
                        .cu({0, 4, 6})
                        .grids({1, 4, 4, 1, 2, 4})
                        .header("vtower", record.dump())
                        .write(folder.path() / "good.safetensors"));
}

const std::vector<DumpOptions> all_options{
    {}, {"", "block.0"}, {"image_embeds", ""}, {"", "", 2, 2, 2}, {"block.0", "mine", 1}};

void damage(const std::string& good, const std::string& name, int rounds, std::uint32_t seed) {
  const TempDir folder;
  std::mt19937 random(seed);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    const auto place = [&] { return random() % bytes.size(); };
    switch (round % 4) {
      case 0: bytes[place()] ^= static_cast<char>(1U << random() % 8); break;
      case 1: bytes[place()] = static_cast<char>(random()); break;
      case 2: bytes.resize(1 + place()); break;
      default: bytes.insert(place(), bytes.substr(place(), random() % 16)); break;
    }
    const DumpOptions& options = all_options[random() % all_options.size()];
    (opens(folder.write(name, bytes), options) ? accepted : refused) += 1;
  }
  MESSAGE(name << ": " << accepted << " opened, " << refused << " refused");
  CHECK(refused > rounds / 4);
}

}  // namespace

TEST_CASE("every cut of a dump is refused") {
  const TempDir folder;
  const std::string good = small_dump(folder);
  REQUIRE(opens(folder.path() / "good.safetensors", {}));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    REQUIRE_FALSE(opens(folder.write("cut.safetensors", good.substr(0, size)), {}));
  }
  for (const char* name : {"npy/fortran_2d.npy", "npy/stored.npz", "npy/deflated.npz"}) {
    const std::string array = file_bytes(golden(name));
    const std::string cut = "cut" + std::filesystem::path(name).extension().string();
    for (std::size_t size = 0; size < array.size(); size += 3) {
      REQUIRE_FALSE(opens(folder.write(cut, array.substr(0, size)), {"values", ""}));
    }
  }
}

TEST_CASE("damaged dumps open or are refused") {
  const TempDir folder;
  damage(small_dump(folder), "flipped.safetensors", 3000, 1);
  damage(small_dump(folder), "flipped", 1000, 2);
  damage(file_bytes(golden("npy/c_f4.npy")), "flipped.npy", 1000, 3);
  const std::string rows = npy_bytes<float>("<f4", 6, 6, std::vector<float>(36, 0.5F));
  const std::string grids = npy_bytes<std::int64_t>("<i8", 2, 3, {1, 4, 4, 1, 2, 4});
  const std::string zip = npz_bytes({{"embeddings", rows}, {"grid_thw", grids}});
  REQUIRE(opens(folder.write("good.npz", zip), {}));
  damage(zip, "flipped.npz", 1000, 4);
}

TEST_CASE("every byte of the whole numbers and of the header, set to its extremes") {
  const TempDir folder;
  const std::string good = small_dump(folder);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char value : {'\x00', '\x7f', '\xff', '9', '-'}) {
      std::string bytes = good;
      bytes[i] = value;
      opens(folder.write("set.safetensors", bytes), all_options[i % all_options.size()]);
    }
  }
}
