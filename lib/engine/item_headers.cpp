#include "engine/item_headers.h"

namespace vtower {

std::vector<HeaderResult> read_headers(const ItemSource& source) {
  std::vector<HeaderResult> headers;
  headers.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) headers.push_back(source.header(i));
  return headers;
}

SortedHeaders sort_headers(const std::vector<HeaderResult>& headers) {
  SortedHeaders sorted;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (const auto* failure = std::get_if<ItemFailure>(&headers[i])) {
      sorted.failed.emplace_back(i, *failure);
    } else {
      sorted.sound.push_back(i);
      sorted.grids.push_back(std::get<ItemHeader>(headers[i]).grid);
    }
  }
  return sorted;
}

BatchPlan plan_of(const SortedHeaders& headers, const std::vector<std::size_t>& places,
                  std::int64_t max_rows) {
  std::vector<GridThw> grids;
  for (const std::size_t place : places) grids.push_back(headers.grids[place]);
  BatchPlan plan = make_batch_plan(grids, max_rows);
  for (Batch& batch : plan.batches) {
    for (std::size_t& item : batch.items) item = headers.sound[places[item]];
  }
  return plan;
}

}  // namespace vtower
