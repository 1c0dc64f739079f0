#include "explain/distance.h"

#include <cassert>
#include <cmath>

#include "check/item_comparison.h"
#include "tower/placement.h"

namespace vtower::explain {

TokenRows rows_of(const at::Tensor& tokens) {
  assert(tokens.is_cpu() && tokens.is_contiguous() && tokens.dim() == 2);
  return {to_dtype(tokens.scalar_type()),
          tokens.size(0),
          tokens.size(1),
          {static_cast<const std::uint8_t*>(tokens.const_data_ptr()), tokens.nbytes()}};
}

Tensors tokens_of(const Tensors& batch, std::int64_t first, std::int64_t count) {
  Tensors tokens;
  for (const at::Tensor& tensor : batch) tokens.push_back(tensor.narrow(0, first, count));
  return tokens;
}

Distance larger(const Distance& a, const Distance& b) {
  const auto worse = [](double x, double y) { return std::isnan(x) || x > y ? x : y; };
  return {worse(a.worst, b.worst), worse(a.pooled, b.pooled)};
}

Distance distance(const std::vector<TokenRows>& side, const Tensors& truth, int threads) {
  assert(!side.empty() && side.size() <= truth.size());
  Distance all;
  for (std::size_t i = 0; i < side.size(); ++i) {
    const ItemComparison found =
        compare_items(side[i], rows_of(truth[i]), Scale::reference, threads);
    all = larger(all, {found.worst_error, found.pooled_error});
  }
  return all;
}

}  // namespace vtower::explain
