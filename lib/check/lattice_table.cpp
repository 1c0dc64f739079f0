#include <algorithm>
#include <cassert>
#include <cmath>

#include "check/lattice.h"
#include "core/error.h"

namespace vtower {
namespace {

using Steps = std::vector<PixelStep>;

constexpr std::array rescales{PixelStep::rescale_double, PixelStep::rescale_float,
                              PixelStep::rescale_quotient};
constexpr std::array norms{PixelStep::norm_fused, PixelStep::norm_two_step, PixelStep::norm_affine,
                           PixelStep::norm_fma};
constexpr std::array standards{PixelStep::standardize, PixelStep::standardize_affine,
                               PixelStep::standardize_fma};

// Rounds half to even to `bits` explicit bits of mantissa, subnormal below 2^min_exponent. The
// values of pixels are far from overflow.
float rounded(float value, int bits, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double quantum = std::ldexp(1.0, std::max(std::ilogb(value), min_exponent) - bits);
  return static_cast<float>(std::nearbyint(value / quantum) * quantum);
}

float rounded_to(DType type, float value) {
  switch (type) {
    case DType::bf16: return rounded(value, 7, -126);
    case DType::f16: return rounded(value, 10, -14);
    default: assert(type == DType::f32); return value;
  }
}

// The constants of one channel, rounded as the steps want them.
struct Channel {
  Channel(const LatticeConstants& constants, std::size_t c)
      : rescale(constants.rescale_factor),
        mean(static_cast<float>(constants.mean[c])),
        std(static_cast<float>(constants.std[c])) {
    const float range = static_cast<float>(1.0 / rescale);
    fused_mean = mean * range;
    fused_std = std * range;
    inverse_std = 1.0F / std;
    weight = inverse_std * static_cast<float>(rescale);
    bias = -mean / std;
  }

  double rescale;
  float mean, std, fused_mean, fused_std, inverse_std, weight, bias;
};

float apply(PixelStep step, float x, const Channel& k) {
  const auto scaled = [&] { return static_cast<float>(static_cast<double>(x) * k.rescale); };
  switch (step) {
    case PixelStep::rescale_double: return scaled();
    case PixelStep::rescale_float: return x * static_cast<float>(k.rescale);
    case PixelStep::rescale_quotient: return x / static_cast<float>(1.0 / k.rescale);
    case PixelStep::norm_fused: return (x - k.fused_mean) / k.fused_std;
    case PixelStep::norm_two_step: return (scaled() - k.mean) / k.std;
    case PixelStep::norm_affine: return x * k.weight + k.bias;
    case PixelStep::norm_fma: return std::fma(x, k.weight, k.bias);
    case PixelStep::standardize: return (x - k.mean) / k.std;
    case PixelStep::standardize_affine: return x * k.inverse_std + k.bias;
    case PixelStep::standardize_fma: return std::fma(x, k.inverse_std, k.bias);
  }
  return x;
}

// Constants that stand in where a state needs no mean and std.
LatticeConstants rescale_only(double factor) {
  return {"", {0, 0, 0}, {1, 1, 1}, factor};
}

std::vector<LatticeConstants> without_doubles(std::span<const LatticeConstants> constants) {
  std::vector<LatticeConstants> unique;
  for (const LatticeConstants& next : constants) {
    const auto same =
        std::find_if(unique.begin(), unique.end(), [&](const LatticeConstants& other) {
          return other.mean == next.mean && other.std == next.std &&
                 other.rescale_factor == next.rescale_factor;
        });
    if (same == unique.end()) {
      unique.push_back(next);
    } else if (same->name != next.name) {
      same->name += " (" + next.name + ")";
    }
  }
  return unique;
}

std::vector<DType> roundings_of(DType storage) {
  if (storage == DType::f32) return {DType::f32, DType::bf16, DType::f16};
  if (storage == DType::bf16 || storage == DType::f16) return {storage};
  throw Error(ErrorKind::unsupported, "lattice",
              "pixel values stored as " + std::string(to_string(storage)) +
                  ": expected fp32, bf16 or fp16");
}

class Builder {
 public:
  explicit Builder(DType storage) : roundings_(roundings_of(storage)) {}

  void add(PixelState state, const std::optional<LatticeConstants>& constants, const Steps& steps) {
    for (const DType rounding : roundings_) {
      made_.push_back({state, constants, steps, rounding, DType::f32});
      if (steps.size() > 1 && rounding != DType::f32) {
        made_.push_back({state, constants, steps, rounding, rounding});
      }
    }
  }

  // Every pair of a first and a second step.
  template <typename First, typename Second>
  void add(PixelState state, const std::optional<LatticeConstants>& constants, const First& first,
           const Second& second) {
    for (const PixelStep one : first) {
      for (const PixelStep two : second) add(state, constants, Steps{one, two});
    }
  }

  template <typename Single>
  void add_each(PixelState state, const std::optional<LatticeConstants>& constants,
                const Single& steps) {
    for (const PixelStep step : steps) add(state, constants, Steps{step});
  }

  std::vector<LatticeHypothesis> take() && { return std::move(made_); }

 private:
  std::vector<DType> roundings_;
  std::vector<LatticeHypothesis> made_;
};

}  // namespace

std::vector<LatticeConstants> known_constants() {
  return {{"CLIP", {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}},
          {"0.5", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
          {"ImageNet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}};
}

LatticeTable lattice_table(const LatticeHypothesis& hypothesis) {
  const LatticeConstants constants = hypothesis.constants.value_or(rescale_only(1.0 / 255.0));
  LatticeTable table{};
  for (std::size_t c = 0; c < 3; ++c) {
    const Channel channel(constants, c);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      float value = static_cast<float>(byte);
      for (std::size_t i = 0; i < hypothesis.steps.size(); ++i) {
        value = apply(hypothesis.steps[i], value, channel);
        const bool last = i + 1 == hypothesis.steps.size();
        value = rounded_to(last ? hypothesis.rounding : hypothesis.rounding_between, value);
      }
      table[c][byte] = value + 0.0F;  // -0 and 0 are one value
    }
  }
  return table;
}

std::vector<LatticeHypothesis> lattice_hypotheses(DType storage,
                                                  std::span<const LatticeConstants> constants) {
  const std::vector<LatticeConstants> sets = without_doubles(constants);
  Builder builder(storage);
  for (const LatticeConstants& set : sets) builder.add_each(PixelState::normalized, set, norms);
  builder.add(PixelState::raw, std::nullopt, Steps{});
  std::vector<double> factors;
  for (const LatticeConstants& set : sets) {
    if (std::find(factors.begin(), factors.end(), set.rescale_factor) == factors.end()) {
      factors.push_back(set.rescale_factor);
    }
  }
  for (const double factor : factors) {
    builder.add_each(PixelState::rescaled, rescale_only(factor), rescales);
  }
  for (const LatticeConstants& set : sets) {
    builder.add(PixelState::normalized_twice, set, norms, norms);
    builder.add_each(PixelState::normalized_without_rescale, set, standards);
    builder.add(PixelState::normalized_after_two_rescales, set, rescales, norms);
    builder.add(PixelState::normalized_twice_rescaled_once, set, norms, standards);
  }
  for (const double factor : factors) {
    builder.add(PixelState::rescaled_twice, rescale_only(factor), rescales, rescales);
  }
  return std::move(builder).take();
}

}  // namespace vtower
