#include "check/value_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "check/item_comparison.h"
#include "check/refuse_fast_math.h"

namespace vtower {
namespace {

constexpr std::size_t sample_size = 64;
constexpr std::size_t least_tokens_by_channel = 8;

struct Token {
  const RowsPair* pair = nullptr;
  std::int64_t row = 0;
};

using Tokens = std::span<const Token>;
using Values = std::span<double>;

// Changes both rows of a token into what has to be equal.
struct Map {
  std::string sentence;
  std::function<void(Values a, Values b)> apply;
};

template <typename Take>
void for_each_token(Tokens tokens, Take take) {
  const auto width = static_cast<std::size_t>(tokens.front().pair->a.width);
  std::vector<double> a(width);
  std::vector<double> b(width);
  for (const Token& token : tokens) {
    widen(token.pair->a, token.row, 0, a);
    widen(token.pair->b, token.row, 0, b);
    take(Values(a), Values(b));
  }
}

double norm(Values values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string range_of(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return shown(*least) + " to " + shown(*most);
}

std::optional<Map> fit_scale(Tokens tokens) {
  double ab = 0;
  double aa = 0;
  for_each_token(tokens, [&](Values a, Values b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      ab += a[i] * b[i];
      aa += a[i] * a[i];
    }
  });
  const double scale = ab / aa;
  if (!std::isfinite(scale) || scale == 0) return std::nullopt;
  return Map{"b is a scaled by " + shown(scale), [scale](Values a, Values) {
               for (double& value : a) value *= scale;
             }};
}

void scale_to(Values values, double size) {
  const double factor = size / norm(values);
  for (double& value : values) value *= factor;
}

// `normalized`: the side whose tokens all have one norm.
std::optional<Map> fit_norm(Tokens tokens, bool b_is_normalized) {
  double sum = 0;
  for_each_token(tokens, [&](Values a, Values b) { sum += norm(b_is_normalized ? b : a); });
  const double size = sum / static_cast<double>(tokens.size());
  if (!(size > 0)) return std::nullopt;
  const std::string what = std::abs(size - 1) < 0.01
                               ? " with every token L2-normalised"
                               : " with every token scaled to norm " + shown(size);
  return Map{(b_is_normalized ? "b is a" : "a is b") + what,
             [=](Values a, Values b) { scale_to(b_is_normalized ? a : b, size); }};
}

std::optional<Map> fit_channel_scale(Tokens tokens) {
  if (tokens.size() < least_tokens_by_channel) return std::nullopt;
  std::vector<double> ab(static_cast<std::size_t>(tokens.front().pair->a.width));
  std::vector<double> aa(ab.size());
  for_each_token(tokens, [&](Values a, Values b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      ab[i] += a[i] * b[i];
      aa[i] += a[i] * a[i];
    }
  });
  for (std::size_t i = 0; i < ab.size(); ++i) ab[i] = aa[i] == 0 ? 1 : ab[i] / aa[i];
  const std::string sentence = "b is a scaled channel by channel, by " + range_of(ab);
  return Map{sentence, [scales = std::move(ab)](Values a, Values) {
               for (std::size_t i = 0; i < a.size(); ++i) a[i] *= scales[i];
             }};
}

std::vector<double> mean_difference(Tokens tokens) {
  std::vector<double> mean(static_cast<std::size_t>(tokens.front().pair->a.width));
  for_each_token(tokens, [&](Values a, Values b) {
    for (std::size_t i = 0; i < a.size(); ++i) mean[i] += b[i] - a[i];
  });
  for (double& value : mean) value /= static_cast<double>(tokens.size());
  return mean;
}

std::optional<Map> fit_offset(Tokens tokens) {
  double offset = 0;
  const std::vector<double> mean = mean_difference(tokens);
  for (const double value : mean) offset += value / static_cast<double>(mean.size());
  return Map{"b is a plus " + shown(offset), [offset](Values a, Values) {
               for (double& value : a) value += offset;
             }};
}

std::optional<Map> fit_channel_offset(Tokens tokens) {
  if (tokens.size() < least_tokens_by_channel) return std::nullopt;
  std::vector<double> mean = mean_difference(tokens);
  const std::string sentence = "b is a plus a constant for each channel, " + range_of(mean);
  return Map{sentence, [offsets = std::move(mean)](Values a, Values) {
               for (std::size_t i = 0; i < a.size(); ++i) a[i] += offsets[i];
             }};
}

double residual(Tokens tokens, const Map& map) {
  std::vector<TokenSums> sums;
  sums.reserve(tokens.size());
  for_each_token(tokens, [&](Values a, Values b) {
    map.apply(a, b);
    TokenSums token;
    token.norm_a = norm(a);
    token.norm_b = norm(b);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    token.distance = norm(a);
    sums.push_back(token);
  });
  const std::vector<double> scales = error_scales(sums, Scale::smaller);
  double worst = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double error = token_error(sums[i].distance, scales[i]);
    if (!(error <= worst)) worst = error;  // NaN stays
    if (std::isnan(worst)) break;
  }
  return worst;
}

std::vector<Token> tokens_of(std::span<const RowsPair> pairs) {
  std::vector<Token> tokens;
  for (const RowsPair& pair : pairs) {
    for (std::int64_t row = 0; row < pair.a.rows; ++row) tokens.push_back({&pair, row});
  }
  return tokens;
}

std::vector<Token> sample_of(const std::vector<Token>& tokens) {
  const std::size_t step = std::max<std::size_t>(tokens.size() / sample_size, 1);
  std::vector<Token> sample;
  for (std::size_t i = 0; i < tokens.size(); i += step) sample.push_back(tokens[i]);
  return sample;
}

}  // namespace

std::optional<ValueMap> find_value_map(std::span<const RowsPair> pairs, double most) {
  const std::vector<Token> tokens = tokens_of(pairs);
  if (tokens.empty() || pairs.front().a.width == 0) return std::nullopt;
  const std::vector<Token> sample = sample_of(tokens);
  using Fit = std::function<std::optional<Map>(Tokens)>;
  const Fit fits[]{fit_scale,
                   [](Tokens all) { return fit_norm(all, true); },
                   [](Tokens all) { return fit_norm(all, false); },
                   fit_channel_scale,
                   fit_offset,
                   fit_channel_offset};
  for (const Fit& fit : fits) {
    // A sample has a median norm of its own, hence twice the limit.
    const std::optional<Map> of_sample = fit(sample);
    if (!of_sample || !(residual(sample, *of_sample) <= 2 * most)) continue;
    const std::optional<Map> map = fit(tokens);
    if (!map) continue;
    const double left = residual(tokens, *map);
    if (left <= most) return ValueMap{map->sentence, left};
  }
  return std::nullopt;
}

}  // namespace vtower
