// What turns the values of one side into those of the other, row by row.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "check/token_rows.h"

namespace vtower {

struct RowsPair {
  TokenRows a;
  TokenRows b;
};

struct ValueMap {
  std::string sentence;  // "b is a scaled by 1.86"
  double residual = 0;   // worst token error (Scale::smaller) that is left
};

// The first of scale, L2 normalisation of tokens, scale by channel, offset, offset by channel that
// leaves no more than `most`. One map for all pairs, each pair of one shape, all of one width. Maps
// by channel need eight tokens or more: fewer can be fitted by anything. Tried on a sample first.
// Thread-safe.
std::optional<ValueMap> find_value_map(std::span<const RowsPair> pairs, double most);

}  // namespace vtower
