// Decoded bytes against the references', and files that have to be refused.
#include <set>

#include "support/media_golden.h"

using namespace vtower;
using namespace vtower::test;

namespace {

// `expected` is one entry of decoded.json that is no error: the shape and hash of [H, W, 3].
void check_decoded(const std::filesystem::path& path, Profile profile,
                   const nlohmann::json& expected) {
  const Frame frame = decode_as(path, profile);
  CHECK(frame.size == ImageSize{expected["shape"][0], expected["shape"][1]});
  CHECK(sha256_hex(frame.pixels.span()) == expected["sha256"]);
}

}  // namespace

TEST_CASE("every reference picture decodes to the reference's bytes") {
  const nlohmann::json reference = golden_json("media/pixels/decoded.json");
  REQUIRE(reference["images"].size() == 87);
  int equal = 0;
  int refused = 0;
  for (const auto& [name, profiles] : reference["images"].items()) {
    for (const Profile profile : all_profiles) {
      CAPTURE(name);
      CAPTURE(to_string(profile));
      const nlohmann::json& expected = profiles[std::string(to_string(profile))];
      const std::filesystem::path path = golden("media/images") / name;
      // Samples of 16 bits and several frames are no picture of bytes: refused, by policy.
      const bool no_bytes =
          expected.contains("frames") &&
          (expected["frames"].size() != 1 || expected["frames"][0]["dtype"] != "uint8");
      if (expected.contains("error") || no_bytes) {
        CHECK(error_of([&] { decode_as(path, profile); }) == ErrorKind::unsupported);
        ++refused;
      } else {
        check_decoded(path, profile, expected["frames"][0]);
        ++equal;
      }
    }
  }
  CHECK(equal == 249);
  CHECK(refused == 12);
}

TEST_CASE("odd but valid pictures decode to the reference's bytes") {
  const nlohmann::json reference = golden_json("made/decoded.json");
  REQUIRE(reference["images"].size() > 250);
  // What is stricter here than in the reference.
  const std::set<std::pair<std::string, Profile>> refused_here = {
      {"gif_index_beyond_palette.gif", Profile::hf},  // read from arbitrary memory there
      {"tiff_float.tif", Profile::vllm},              // samples that are no integers
      {"tiff_float.tif", Profile::hf_pil}};
  for (const auto& [name, profiles] : reference["images"].items()) {
    for (const Profile profile : all_profiles) {
      CAPTURE(name);
      CAPTURE(to_string(profile));
      const nlohmann::json& expected = profiles[std::string(to_string(profile))];
      const std::filesystem::path path = golden("made/images") / name;
      if (expected.contains("error") || refused_here.contains({name, profile})) {
        CHECK(error_of([&] { decode_as(path, profile); }).has_value());
      } else {
        check_decoded(path, profile, expected);
      }
    }
  }
}

TEST_CASE("a decoder can be used again, from its header alone nothing is decoded") {
  const MappedFile file(golden("media/images/jpeg_420_progressive.jpg"));
  const auto decoder = open_image({file.bytes(), Profile::vllm, default_pixel_cap});
  const Frame first = decode_stored(*decoder);
  const Frame second = decode_stored(*decoder);
  CHECK(std::memcmp(first.pixels.data(), second.pixels.data(), first.pixels.size()) == 0);
}

TEST_CASE("JPEG warnings: lost data are refused, junk between segments is noted") {
  const MappedFile file(golden("media/images/jpeg_420_q75.jpg"));
  const std::string good(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const auto decode = [](const std::string& text) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    return open_image({bytes, Profile::vllm, default_pixel_cap})->decode([](const std::uint8_t*) {
    });
  };
  CHECK(decode(good).empty());

  std::string junk = good;
  const auto app0_size = static_cast<std::size_t>(static_cast<unsigned char>(good[5]));
  junk.insert(4 + app0_size, "junk");  // behind the first segment
  const std::vector<std::string> notes = decode(junk);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("extraneous") != std::string::npos);

  // Half of the scan taken out, the end marker kept.
  std::string cut = good;
  cut.erase(good.size() / 2, good.size() / 2 - 2);
  CHECK(error_of([&] { decode(cut); }) == ErrorKind::unreadable);
}

TEST_CASE("formats that are not read are refused by their signature") {
  using namespace std::string_view_literals;
  for (const std::string_view head : {"\0\0\0\x18"
                                      "ftypavif\0\0\0\0mif1avif"sv,
                                      "\0\0\0\x18"
                                      "ftypheic\0\0\0\0mif1heic"sv,
                                      "\0\0\0\x0cjP  \r\n\x87\n"sv, "\xff\x4f\xff\x51\0\0"sv,
                                      "<?xml version=\"1.0\"?>\n<svg xmlns=\"x\"/>"sv,
                                      "\0\0\0\x18"
                                      "ftypisom\0\0\0\0isommp42"sv}) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(head.data()), head.size());
    CHECK(error_of([&] {
            open_image({bytes, Profile::vllm, default_pixel_cap});
          }) == ErrorKind::unsupported);
  }
}
