// How far the items of a faulty side are from planted tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "check/token_rows.h"
#include "explain/fault.h"

namespace vtower::explain {

struct Distance {
  double worst = 0;   // largest token error; NaN where a token is not finite
  double pooled = 0;  // largest Frobenius error of an item's tensor
};

// A view of a contiguous CPU tensor [rows, width].
TokenRows rows_of(const at::Tensor& tokens);

// The tensors of one item, cut out of those of a batch.
Tensors tokens_of(const Tensors& batch, std::int64_t first, std::int64_t count);

// `side` against `truth`, tensor by tensor; levels that the side does not have are left out.
Distance distance(const std::vector<TokenRows>& side, const Tensors& truth, int threads);

// The larger of both, NaN where either is NaN.
Distance larger(const Distance& a, const Distance& b);

}  // namespace vtower::explain
