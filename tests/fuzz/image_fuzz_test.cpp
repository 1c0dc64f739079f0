// Every reference picture cut, flipped and spliced: either it decodes or an Error comes out.
#include <random>

#include "support/media_golden.h"

using namespace vtower;
using namespace vtower::test;

namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> pictures(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);  // the same cases on every machine
  std::vector<Bytes> all;
  for (const auto& path : paths) {
    const MappedFile file(path);
    if (file.bytes().size() < 20'000) all.emplace_back(file.bytes().begin(), file.bytes().end());
  }
  return all;
}

enum class Damage { cut, flip_bits, overwrite, zero_run, splice, repeat, count };

Bytes damaged(const Bytes& good, const Bytes& other, Damage damage, std::mt19937& random) {
  Bytes bytes = good;
  const auto place = [&] { return static_cast<std::size_t>(random()) % bytes.size(); };
  // Headers are where sizes live: half of the damage goes there.
  const auto header_place = [&] {
    return random() % 2 == 0 ? place() : place() % std::min<std::size_t>(bytes.size(), 64);
  };
  switch (damage) {
    case Damage::cut: bytes.resize(place()); break;
    case Damage::flip_bits:
      for (int n = 1 + static_cast<int>(random() % 4); n > 0; --n) {
        bytes[header_place()] ^= static_cast<std::uint8_t>(1U << random() % 8);
      }
      break;
    case Damage::overwrite:
      for (int n = 1 + static_cast<int>(random() % 8); n > 0; --n) {
        const auto value = static_cast<std::uint8_t>(random());
        bytes[header_place()] = random() % 4 == 0 ? std::uint8_t{255} : value;
      }
      break;
    case Damage::zero_run: {
      const std::size_t start = header_place();
      const std::size_t end = std::min(bytes.size(), start + 1 + random() % 40);
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(start),
                bytes.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{0});
      break;
    }
    case Damage::splice: {
      const auto at = static_cast<std::ptrdiff_t>(place());
      const auto from = static_cast<std::ptrdiff_t>(random() % other.size());
      bytes.resize(static_cast<std::size_t>(at));
      bytes.insert(bytes.end(), other.begin() + from, other.end());
      break;
    }
    default: {
      const auto at = static_cast<std::ptrdiff_t>(place());
      const auto length = static_cast<std::ptrdiff_t>(1 + random() % 30);
      const Bytes piece(bytes.begin() + at,
                        bytes.begin() + std::min<std::ptrdiff_t>(at + length, std::ssize(bytes)));
      bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
      break;
    }
  }
  return bytes;
}

// A cap that keeps every case small in time and memory; files above it must say so.
constexpr std::int64_t pixel_cap = 1'000'000;

bool decodes(const Bytes& bytes, Profile profile) {
  try {
    const auto decoder = open_image({bytes, profile, pixel_cap});
    REQUIRE(decoder->header().stored.pixels() <= pixel_cap);
    std::int64_t lines = 0;
    decoder->decode([&](const std::uint8_t*) { ++lines; });
    CHECK(lines == decoder->header().stored.height);
    return true;
  } catch (const Error& error) {
    CHECK_FALSE(error.message().empty());
    return false;
  }
}

void damage_all(const std::filesystem::path& folder, int rounds, std::uint32_t seed) {
  const std::vector<Bytes> good = pictures(folder);
  REQUIRE(good.size() > 20);
  std::mt19937 random(seed);
  int accepted = 0;
  int refused = 0;
  for (const Bytes& picture : good) {
    for (int round = 0; round < rounds; ++round) {
      const auto damage = static_cast<Damage>(round % static_cast<int>(Damage::count));
      const Bytes& other = good[random() % good.size()];
      const Bytes bytes = damaged(picture, other, damage, random);
      const Profile profile = all_profiles[random() % all_profiles.size()];
      (decodes(bytes, profile) ? accepted : refused) += 1;
    }
  }
  MESSAGE(accepted << " decoded, " << refused << " refused");
  CHECK(refused > accepted / 4);  // the damage reaches the parsers
}

}  // namespace

TEST_CASE("damaged reference pictures") {
  damage_all(golden("media/images"), 24, 1);
}

TEST_CASE("damaged odd pictures") {
  damage_all(golden("made/images"), 12, 2);
}

TEST_CASE("every cut of the small formats is refused or complete") {
  // Formats with an end of their own: no proper beginning of the file may pass for the whole.
  for (const char* name : {"media/images/png_palette4.png", "media/images/gif_still.gif",
                           "made/images/jpeg_8x8_2x2.jpg", "media/images/webp_exif_8.webp"}) {
    const MappedFile file(golden(name));
    CAPTURE(name);
    for (std::size_t size = 0; size < file.bytes().size(); ++size) {
      const Bytes bytes(file.bytes().begin(),
                        file.bytes().begin() + static_cast<std::ptrdiff_t>(size));
      CAPTURE(size);
      CHECK_FALSE(decodes(bytes, Profile::vllm));
    }
  }
}
