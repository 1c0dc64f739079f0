#include "cli/inspect_pixels.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "check/lattice.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

template <typename Element>
std::vector<float> widen(std::span<const std::uint8_t> bytes) {
  std::vector<float> values(bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element element;
    std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
    values[i] = static_cast<float>(element);
  }
  return values;
}

PatchLayout layout_of(const PixelArray& pixels, const std::optional<Checkpoint>& checkpoint) {
  if (checkpoint) return checkpoint->vision().layout;
  for (const std::int64_t patch_size : {14, 16}) {
    const PatchLayout layout{patch_size, 2, 2};
    if (layout.row_width() == pixels.shape[1]) return layout;
  }
  throw Error(ErrorKind::usage, "inspect",
              "rows of " + std::to_string(pixels.shape[1]) +
                  " values: give --checkpoint to say how channels lie in them");
}

}  // namespace

std::vector<float> values_of(const PixelArray& pixels) {
  switch (pixels.dtype) {
    case DType::u8: return widen<std::uint8_t>(pixels.bytes);
    case DType::bf16: return widen<c10::BFloat16>(pixels.bytes);
    case DType::f16: return widen<c10::Half>(pixels.bytes);
    case DType::f32: return widen<float>(pixels.bytes);
    default:
      throw Error(ErrorKind::unsupported, "inspect",
                  "pixels of type " + std::string(to_string(pixels.dtype)) +
                      ": expected uint8, fp32, bf16 or fp16");
  }
}

bool looks_like_pixels(const std::string& name, std::optional<DType> dtype,
                       const std::vector<std::int64_t>& shape) {
  static constexpr std::array<std::string_view, 4> names{"pixels", "pixel_values",
                                                         "pixel_values_videos", "normalized"};
  const bool readable =
      dtype == DType::u8 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
  return readable && shape.size() == 2 &&
         std::find(names.begin(), names.end(), name) != names.end();
}

Json inspect_pixels(const std::string& name, const PixelArray& pixels,
                    const std::optional<Checkpoint>& checkpoint, const Terminal& terminal) {
  if (pixels.dtype == DType::u8) {
    terminal.say("  " + name + ": raw bytes, as `vtower encode` takes them");
    return {{"state", "raw bytes"}};
  }
  std::vector<LatticeConstants> constants;
  if (checkpoint) {
    const NormConstants& norm = checkpoint->preprocessor().norm;
    constants.push_back({"the checkpoint's", norm.mean(), norm.std(), norm.rescale_factor()});
  }
  for (LatticeConstants& known : known_constants()) constants.push_back(std::move(known));
  const std::vector<float> values = values_of(pixels);
  const LatticeFit fit =
      fit_lattice(values, layout_of(pixels, checkpoint), pixels.dtype, constants);
  terminal.say("  " + name + ": " + describe(fit));
  Json matches = Json::array();
  for (const LatticeMatch& match : fit.matches) matches.push_back(describe(match.hypothesis));
  return {{"state", describe(fit)},
          {"matches", std::move(matches)},
          {"off_lattice", fit.off_lattice},
          {"non_finite", fit.non_finite}};
}

}  // namespace vtower::cli
