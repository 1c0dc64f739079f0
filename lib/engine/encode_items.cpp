#include "engine/encode_items.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <string>
#include <utility>

#include "engine/item_headers.h"
#include "engine/load_items.h"

namespace vtower {
namespace {

bool is_finite(const ItemEmbeddings& item) {
  return all_finite(item.embeddings) &&
         std::all_of(item.deepstack.begin(), item.deepstack.end(), all_finite);
}

// Where the values of an item stopped being numbers. The item has failed already: a search that
// fails says so and ends nothing.
std::string search_text(Runner& runner, const LoadedItem& item) {
  try {
    const StageSearch search = runner.find_non_finite(item.patches);
    return search.first ? "first in stage " + *search.first
                        : "though not when the item runs " + search.pass;
  } catch (const c10::Error& error) {
    return std::string("in a stage that could not be found: ") + error.what_without_backtrace();
  } catch (const std::exception& error) {
    return std::string("in a stage that could not be found: ") + error.what();
  }
}

// A token that is no number is a wrong token.
ItemFailure non_finite_failure(Runner& runner, const LoadedItem& item) {
  return {item.record.path, ErrorKind::out_of_range,
          "[tower] NaN or infinite values, " + search_text(runner, item) +
              "; does the run dtype have the range? fp16 ends at 65504, try --dtype bf16"};
}

// Keeps copies of the stages of one batch that were asked for, and cuts them by item.
class StageCollector {
 public:
  explicit StageCollector(const std::set<std::string>& wanted) : wanted_(wanted) {}

  [[nodiscard]] StageTrace trace() {
    if (wanted_.empty()) return StageTrace();
    return StageTrace([this](const std::string& stage, const at::Tensor& value) {
      if (wanted_.contains(stage)) kept_[stage] = value.clone();
    });
  }

  // The next item's rows of every stage; items are asked for in the order of the batch.
  [[nodiscard]] std::map<std::string, at::Tensor> next(const ItemEmbeddings& item) {
    const std::int64_t patches = item.grid.patches();
    const std::int64_t tokens = item.embeddings.size(0);
    std::map<std::string, at::Tensor> rows;
    for (const auto& [stage, value] : kept_) {
      rows[stage] = is_per_token(stage) ? value.narrow(0, first_token_, tokens)
                                        : value.narrow(0, first_patch_, patches);
    }
    first_patch_ += patches;
    first_token_ += tokens;
    return rows;
  }

 private:
  const std::set<std::string>& wanted_;
  std::map<std::string, at::Tensor> kept_;
  std::int64_t first_patch_ = 0;
  std::int64_t first_token_ = 0;
};

// The results of a batch, in its order.
std::vector<ItemResult> run_batch(Runner& runner, std::vector<LoadResult> loaded,
                                  const std::set<std::string>& stages) {
  std::vector<ItemResult> results(loaded.size());
  std::vector<const RawPatches*> parts;
  std::vector<std::size_t> places;  // of the sound items
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (auto* failure = std::get_if<ItemFailure>(&loaded[i])) {
      results[i] = std::move(*failure);
    } else {
      parts.push_back(&std::get<LoadedItem>(loaded[i]).patches);
      places.push_back(i);
    }
  }
  if (parts.empty()) return results;
  StageCollector collector(stages);
  std::vector<ItemEmbeddings> outputs;
  try {
    outputs = parts.size() == 1 ? runner.run(*parts.front(), collector.trace())
                                : runner.run(RawPatches::concat(parts), collector.trace());
  } catch (const Error& error) {
    // An item that is too large for the mode has a batch of its own and fails alone.
    if (error.kind() != ErrorKind::too_large || places.size() != 1) throw;
    const auto& item = std::get<LoadedItem>(loaded[places.front()]);
    results[places.front()] = ItemFailure{item.record.path, error.kind(), error.what()};
    return results;
  }
  for (std::size_t k = 0; k < places.size(); ++k) {
    auto& item = std::get<LoadedItem>(loaded[places[k]]);
    ItemResult& result = results[places[k]];
    auto item_stages = collector.next(outputs[k]);
    if (is_finite(outputs[k])) {
      result = EncodedItem{std::move(outputs[k]), std::move(item.record), std::move(item_stages)};
    } else {
      result = non_finite_failure(runner, item);
    }
  }
  return results;
}

// Batch by batch.
std::vector<std::vector<GridThw>> grids_of(const BatchPlan& plan,
                                           const std::vector<HeaderResult>& headers) {
  std::vector<std::vector<GridThw>> batches;
  for (const Batch& batch : plan.batches) {
    std::vector<GridThw>& of_batch = batches.emplace_back();
    for (const std::size_t item : batch.items) {
      of_batch.push_back(std::get<ItemHeader>(headers[item]).grid);
    }
  }
  return batches;
}

}  // namespace

void encode_batches(const ItemSource& source, const BatchPlan& plan, Runner& runner,
                    const EncodeOptions& options) {
  Progress progress{source.size(), source.size(), 0};
  for (const Batch& batch : plan.batches) progress.items_done -= batch.items.size();
  const auto load = [&](std::size_t b) {
    return std::async(std::launch::async, [&, b] {
      return load_items(source, plan.batches[b].items, options.decode_threads);
    });
  };
  std::future<std::vector<LoadResult>> ahead;
  if (!plan.batches.empty()) ahead = load(0);
  for (std::size_t b = 0; b < plan.batches.size(); ++b) {
    const Batch& batch = plan.batches[b];
    std::vector<LoadResult> loaded = ahead.get();
    if (b + 1 < plan.batches.size()) ahead = load(b + 1);
    std::vector<ItemResult> results = run_batch(runner, std::move(loaded), options.stages);
    if (options.on_result) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        options.on_result(batch.items[i], results[i]);
      }
    }
    progress.items_done += batch.items.size();
    progress.patches_done += batch.rows;
    if (options.on_progress) options.on_progress(progress);
  }
}

EncodeResult encode_items(const ItemSource& source, Runner& runner, const EncodeOptions& options) {
  const std::vector<HeaderResult> headers = read_headers(source);
  SortedHeaders sorted = sort_headers(headers);
  std::vector<std::size_t> all(sorted.sound.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  EncodeResult result{plan_of(sorted, all, options.max_batch_rows),
                      std::vector<ItemResult>(source.size())};
  for (auto& [item, failure] : sorted.failed) result.items[item] = std::move(failure);
  if (options.capture == Capture::ahead) runner.prepare(grids_of(result.plan, headers));
  EncodeOptions keeping = options;
  keeping.on_result = [&](std::size_t item, ItemResult& encoded) {
    if (options.on_result) options.on_result(item, encoded);
    result.items[item] = std::move(encoded);
  };
  encode_batches(source, result.plan, runner, keeping);
  return result;
}

}  // namespace vtower
