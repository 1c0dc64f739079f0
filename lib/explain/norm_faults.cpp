// Faults of the normalisation: another table of the 256 byte values.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <utility>

#include "explain/fault.h"

namespace vtower::explain {
namespace {

// y = f(byte, channel) for all entries.
template <typename Value>
NormTable table_of(Value value) {
  NormTable table{};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t u = 0; u < 256; ++u) {
      table[c][u] = static_cast<float>(value(static_cast<double>(u), c));
    }
  }
  return table;
}

using Triple = std::array<double, 3>;

struct Constants {
  std::string variant;
  std::string words;
  Triple mean;
  Triple std;
};

const std::vector<Constants>& known_sets() {
  static const std::vector<Constants> sets{
      {"clip", "CLIP's", {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}},
      {"half", "0.5 and 0.5", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
      {"imagenet", "ImageNet's", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
      {"none", "no mean and std, the rescale alone,", {0, 0, 0}, {1, 1, 1}}};
  return sets;
}

Triple reversed(const Triple& of) {
  return {of[2], of[1], of[0]};
}

template <typename Element>
float rounded(float value) {
  return static_cast<float>(static_cast<Element>(value));
}

// The definition and two rewritings of it, each operation rounded to Element.
template <typename Element>
void add_low_precision(std::vector<Fault>& faults, const NormConstants& norm,
                       const std::string& type) {
  const auto round = rounded<Element>;
  const Triple mean = norm.mean();
  const Triple std = norm.std();
  const auto rescale = static_cast<float>(norm.rescale_factor());
  const auto add = [&](const std::string& form, auto value) {
    Fault fault;
    fault.id = "norm_in_low_precision";
    fault.variant = type + "-" + form;
    fault.sentence = "pixels are normalised in " + type + " instead of float32";
    fault.norm = [value](const NormTable&) { return table_of(value); };
    faults.push_back(std::move(fault));
  };
  add("fused", [=](double u, std::size_t c) {
    const float m = round(static_cast<float>(mean[c]) / rescale);
    const float s = round(static_cast<float>(std[c]) / rescale);
    return round(round(round(static_cast<float>(u)) - m) / s);
  });
  add("two-step", [=](double u, std::size_t c) {
    const float x = round(static_cast<float>(u) * round(rescale));
    return round(round(x - round(static_cast<float>(mean[c]))) / round(static_cast<float>(std[c])));
  });
  add("rescaled-in-float", [=](double u, std::size_t c) {
    const float x = round(static_cast<float>(u) * rescale);
    return round(round(x - round(static_cast<float>(mean[c]))) / round(static_cast<float>(std[c])));
  });
  add("affine", [=](double u, std::size_t c) {
    const float w = round(rescale / static_cast<float>(std[c]));
    const float b = round(static_cast<float>(-mean[c] / std[c]));
    return round(round(static_cast<float>(u) * w) + b);
  });
}

}  // namespace

std::vector<Fault> norm_faults(const Setting& setting) {
  std::vector<Fault> faults;
  const Triple mean = setting.norm.mean();
  const Triple std = setting.norm.std();
  const double rescale = setting.norm.rescale_factor();
  const auto add = [&](const std::string& id, const std::string& variant,
                       const std::string& sentence, auto value) {
    Fault fault;
    fault.id = id;
    fault.variant = variant;
    fault.sentence = sentence;
    fault.rank = Fault::Rank::likely;
    fault.norm = [value](const NormTable&) { return table_of(value); };
    faults.push_back(std::move(fault));
  };
  add("norm_skipped", "", "the tower was fed raw bytes 0..255: the normalisation was skipped",
      [](double u, std::size_t) { return u; });
  add("norm_doubled", "", "rescale and normalisation were applied twice",
      [=](double u, std::size_t c) {
        const double once = (u * rescale - mean[c]) / std[c];
        return (once * rescale - mean[c]) / std[c];
      });
  add("norm_doubled", "rescaled-once", "mean and std were applied twice, the rescale by 1/255 once",
      [=](double u, std::size_t c) {
        const double once = (u * rescale - mean[c]) / std[c];
        return (once - mean[c]) / std[c];
      });
  add("rescale_skipped", "",
      "mean and std were applied to 0..255: the rescale by 1/255 was skipped",
      [=](double u, std::size_t c) { return (u - mean[c]) / std[c]; });
  add("rescale_doubled", "", "pixels were rescaled by 1/255 twice before mean and std",
      [=](double u, std::size_t c) { return (u * rescale * rescale - mean[c]) / std[c]; });
  for (const Constants& set : known_sets()) {
    if (set.mean == mean && set.std == std) continue;
    add("norm_other_constants", set.variant,
        "pixels were normalised with " + set.words + " instead of the checkpoint's constants",
        [=, m = set.mean, s = set.std](double u, std::size_t c) {
          return (u * rescale - m[c]) / s[c];
        });
  }
  if (reversed(mean) != mean || reversed(std) != std) {
    add("norm_other_constants", "reversed",
        "mean and std were applied in the order blue, green, red",
        [=](double u, std::size_t c) { return (u * rescale - mean[2 - c]) / std[2 - c]; });
  }
  add_low_precision<c10::BFloat16>(faults, setting.norm, "bf16");
  add_low_precision<c10::Half>(faults, setting.norm, "fp16");
  return faults;
}

}  // namespace vtower::explain
