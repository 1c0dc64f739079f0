#include <algorithm>
#include <charconv>

#include "check/lattice.h"

namespace vtower {
namespace {

constexpr std::size_t most_forms = 4;  // in one sentence

std::string_view words(PixelStep step) {
  switch (step) {
    case PixelStep::rescale_double: return "x*r in float64";
    case PixelStep::rescale_float: return "x*r";
    case PixelStep::rescale_quotient: return "x/255";
    case PixelStep::norm_fused: return "HF fused";
    case PixelStep::norm_two_step: return "HF two-step";
    case PixelStep::norm_affine: return "x*w+b";
    case PixelStep::norm_fma: return "fused multiply-add x*w+b";
    case PixelStep::standardize: return "(x-mean)/std";
    case PixelStep::standardize_affine: return "x/std+b";
    case PixelStep::standardize_fma: return "fused multiply-add x/std+b";
  }
  return "?";
}

std::string_view words(DType type) {
  if (type == DType::bf16) return "bfloat16";
  return type == DType::f16 ? "float16" : "float32";
}

std::string words(PixelState state, const std::optional<LatticeConstants>& constants) {
  const std::string with = constants ? "with " + constants->name + " constants" : "";
  switch (state) {
    case PixelState::raw: return "raw bytes, 0 to 255";
    case PixelState::rescaled: return "rescaled, not normalised";
    case PixelState::rescaled_twice: return "rescaled twice, not normalised";
    case PixelState::normalized: return "normalised " + with;
    case PixelState::normalized_without_rescale: return "not rescaled, but normalised " + with;
    case PixelState::normalized_after_two_rescales:
      return "rescaled twice, then normalised " + with;
    case PixelState::normalized_twice: return "normalised twice " + with;
    case PixelState::normalized_twice_rescaled_once:
      return "normalised twice " + with + ", rescaled once";
  }
  return "?";
}

std::string form(const LatticeHypothesis& hypothesis) {
  std::string text;
  for (const PixelStep step : hypothesis.steps) {
    if (!text.empty()) text += ", then ";
    text += words(step);
  }
  if (hypothesis.rounding_between != DType::f32) {
    text += ", " + std::string(words(hypothesis.rounding_between)) + " between";
  }
  return text;
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

std::string joined(const std::vector<std::string>& list, const std::string& last) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += i + 1 == list.size() ? last : ", ";
    text += list[i];
  }
  return text;
}

// All matches of one state and set of constants.
struct Group {
  PixelState state;
  std::string name;
  std::vector<std::string> forms;
  std::vector<std::string> roundings;
};

std::string words(const Group& group) {
  if (group.state == PixelState::raw) return group.name;
  std::string forms = joined(group.forms, " or ");
  if (group.forms.size() > most_forms) {
    forms = "one of " + std::to_string(group.forms.size()) + " forms, among them " + group.forms[0];
  }
  return group.name + " (" + forms + " form, " + joined(group.roundings, " or ") + ")";
}

std::vector<Group> groups(const std::vector<LatticeMatch>& matches) {
  std::vector<Group> found;
  for (const LatticeMatch& match : matches) {
    const LatticeHypothesis& hypothesis = match.hypothesis;
    const std::string name = words(hypothesis.state, hypothesis.constants);
    auto group = std::find_if(found.begin(), found.end(),
                              [&](const Group& other) { return other.name == name; });
    if (group == found.end()) {
      found.push_back({hypothesis.state, name, {}, {}});
      group = found.end() - 1;
    }
    add_once(group->forms, form(hypothesis));
    add_once(group->roundings, std::string(words(hypothesis.rounding)));
  }
  return found;
}

std::string number(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), end.ptr};
}

std::string place(const LatticePosition& position) {
  return number(position.value) + " at row " + std::to_string(position.row) + ", column " +
         std::to_string(position.column);
}

std::string describe_matches(const LatticeFit& fit) {
  std::vector<std::string> names;
  for (const Group& group : groups(fit.matches)) names.push_back(words(group));
  std::string text = names.size() == 1 ? names[0]
                                       : "one of these, which the values do not tell apart: " +
                                             joined(names, "; ");
  const auto ambiguous = std::max_element(fit.matches.begin(), fit.matches.end(),
                                          [](const LatticeMatch& a, const LatticeMatch& b) {
                                            return a.ambiguous_values < b.ambiguous_values;
                                          });
  if (ambiguous->ambiguous_values > 0) {
    text += "; " + std::to_string(ambiguous->ambiguous_values) + " of " +
            std::to_string(fit.values) + " values stand for more than one byte (up to " +
            std::to_string(ambiguous->most_bytes_of_a_value) + ")";
  }
  return text;
}

}  // namespace

std::string describe(const LatticeHypothesis& hypothesis) {
  return words(Group{hypothesis.state,
                     words(hypothesis.state, hypothesis.constants),
                     {form(hypothesis)},
                     {std::string(words(hypothesis.rounding))}});
}

std::string describe(const LatticeFit& fit) {
  if (!fit.matches.empty()) return describe_matches(fit);
  std::string text = "on no known lattice";
  if (fit.non_finite > 0) {
    text += ": " + std::to_string(fit.non_finite) + " of " + std::to_string(fit.values) +
            " values are not finite, the first is " + place(*fit.first_non_finite);
  }
  if (fit.off_lattice > fit.non_finite) {
    text += "; nearest is " + describe(*fit.nearest) + ", where " +
            std::to_string(fit.off_lattice) + " of " + std::to_string(fit.values) +
            " values do not stand on it, the first is " + place(*fit.first_off_lattice) +
            ", the largest distance " + number(fit.largest_distance);
  } else if (fit.nearest) {
    text += "; the finite values are " + describe(*fit.nearest);
  }
  return text;
}

}  // namespace vtower
