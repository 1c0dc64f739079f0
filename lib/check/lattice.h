// What was done to the pixels of a foreign float dump, found from the values alone.
//
// Pixels are bytes before they are normalised, so a dump of normalised pixels holds at most 256
// values per channel: the table that some chain of arithmetic makes of 0..255. Each hypothesis is
// such a chain; it holds only if every value of the dump stands in its table, bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/byte_buffer.h"
#include "core/dtype.h"
#include "core/patch_layout.h"

namespace vtower {

struct LatticeConstants {
  std::string name;  // "CLIP", "the checkpoint's": completes "normalised with ... constants"
  std::array<double, 3> mean{};
  std::array<double, 3> std{};
  double rescale_factor = 1.0 / 255.0;
};

// CLIP, 0.5 and ImageNet.
std::vector<LatticeConstants> known_constants();

enum class PixelState {
  raw,                             // 0..255
  rescaled,                        // 0..1
  rescaled_twice,                  // 0..1/255
  normalized,                      // as the tower expects
  normalized_without_rescale,      // (u - mean) / std of 0..255
  normalized_after_two_rescales,   // of 0..1/255
  normalized_twice,                // the whole map applied to its own result
  normalized_twice_rescaled_once,  // (y - mean) / std applied to normalised y
};

// One map from float32 to float32. r = rescale factor, mean and std of the value's channel.
enum class PixelStep {
  rescale_double,      // f32(f64(x) * r): numpy
  rescale_float,       // x * f32(r): torch
  rescale_quotient,    // x / f32(1/r): torchvision's to_tensor
  norm_fused,          // (x - f32(mean)*f32(1/r)) / (f32(std)*f32(1/r)): transformers, torchvision
  norm_two_step,       // (f32(f64(x) * r) - f32(mean)) / f32(std): transformers, Pillow
  norm_affine,         // x*w + b, w = f32(1/std)*f32(r), b = -mean/std: vLLM 0.33.0
  norm_fma,            // the same with one rounding
  standardize,         // (x - f32(mean)) / f32(std)
  standardize_affine,  // x*f32(1/std) + b
  standardize_fma,     // the same with one rounding
};

struct LatticeHypothesis {
  PixelState state = PixelState::raw;
  std::optional<LatticeConstants> constants;  // no name where only the rescale factor counts
  std::vector<PixelStep> steps;               // applied to the byte in order; none for raw
  DType rounding = DType::f32;                // of the result: f32, bf16 or f16
  DType rounding_between = DType::f32;        // of the result of the first of two steps
};

// [channel][byte]: the values that the hypothesis makes.
using LatticeTable = std::array<std::array<float, 256>, 3>;
LatticeTable lattice_table(const LatticeHypothesis& hypothesis);

// Every hypothesis for a dump stored as `storage`, the likeliest first. Constants of equal value
// are taken once, under both names.
std::vector<LatticeHypothesis> lattice_hypotheses(DType storage,
                                                  std::span<const LatticeConstants> constants);

struct LatticeMatch {
  LatticeHypothesis hypothesis;
  std::uint64_t ambiguous_values = 0;  // values that two or more bytes share (bf16, fp16)
  int most_bytes_of_a_value = 1;
};

struct LatticePosition {
  std::int64_t row = 0;
  std::int64_t column = 0;
  float value = 0;
};

struct LatticeFit {
  std::uint64_t values = 0;
  std::vector<LatticeMatch> matches;  // all that hold; these values cannot tell them apart
  bool bytes_agree = true;            // all matches mean the same bytes

  // Where nothing holds: the hypothesis that most values stand on, and those that do not. Empty
  // where all values are non-finite.
  std::optional<LatticeHypothesis> nearest;
  std::uint64_t off_lattice = 0;  // non-finite values included
  std::optional<LatticePosition> first_off_lattice;
  double largest_distance = 0;  // of a finite value to the nearest table

  std::uint64_t non_finite = 0;
  std::optional<LatticePosition> first_non_finite;
};

// `values`: rows of layout.row_width() values, channel-major (core/patch_layout.h), as stored in
// `storage` (f32, bf16 or f16, widened without loss). Throws Error{unreadable} when there are no
// values or no whole rows, Error{unsupported} for another storage type. Thread-safe.
LatticeFit fit_lattice(std::span<const float> values, const PatchLayout& layout, DType storage,
                       std::span<const LatticeConstants> constants);

// "normalised with CLIP constants (HF fused form, float32)"; several matches as a set; values off
// every lattice with their count and the first of them.
std::string describe(const LatticeFit& fit);
std::string describe(const LatticeHypothesis& hypothesis);

// The bytes of a dump that `hypothesis` holds for. Where several bytes share a value, `lowest` and
// `highest` differ. Throws Error{not_comparable} at a value that is not in the table.
struct RecoveredBytes {
  ByteBuffer lowest;
  ByteBuffer highest;
  std::uint64_t ambiguous_values = 0;
};
RecoveredBytes recover_bytes(std::span<const float> values, const PatchLayout& layout,
                             const LatticeHypothesis& hypothesis);

}  // namespace vtower
