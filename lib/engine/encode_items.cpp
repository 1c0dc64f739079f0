#include "engine/encode_items.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

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

void run_batch(Runner& runner, const Batch& batch, std::vector<LoadResult> loaded,
               const std::set<std::string>& stages, std::vector<ItemResult>& results) {
  std::vector<const RawPatches*> parts;
  std::vector<std::size_t> places;  // of the sound items, in `loaded`
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (auto* failure = std::get_if<ItemFailure>(&loaded[i])) {
      results[batch.items[i]] = std::move(*failure);
    } else {
      parts.push_back(&std::get<LoadedItem>(loaded[i]).patches);
      places.push_back(i);
    }
  }
  if (parts.empty()) return;
  StageCollector collector(stages);
  std::vector<ItemEmbeddings> outputs;
  try {
    outputs = parts.size() == 1 ? runner.run(*parts.front(), collector.trace())
                                : runner.run(RawPatches::concat(parts), collector.trace());
  } catch (const Error& error) {
    // An item that is too large for the mode has a batch of its own and fails alone.
    if (error.kind() != ErrorKind::too_large || places.size() != 1) throw;
    const auto& item = std::get<LoadedItem>(loaded[places.front()]);
    results[batch.items[places.front()]] =
        ItemFailure{item.record.path, error.kind(), error.what()};
    return;
  }
  for (std::size_t k = 0; k < places.size(); ++k) {
    auto& item = std::get<LoadedItem>(loaded[places[k]]);
    ItemResult& result = results[batch.items[places[k]]];
    auto item_stages = collector.next(outputs[k]);
    if (is_finite(outputs[k])) {
      result = EncodedItem{std::move(outputs[k]), std::move(item.record), std::move(item_stages)};
    } else {
      result = non_finite_failure(runner, item);
    }
  }
}

// Batch by batch, before the plan's indices are those of the request.
std::vector<std::vector<GridThw>> grids_of(const BatchPlan& plan, std::span<const GridThw> grids) {
  std::vector<std::vector<GridThw>> batches;
  for (const Batch& batch : plan.batches) {
    std::vector<GridThw>& of_batch = batches.emplace_back();
    for (const std::size_t item : batch.items) of_batch.push_back(grids[item]);
  }
  return batches;
}

}  // namespace

EncodeResult encode_items(const ItemSource& source, Runner& runner, const EncodeOptions& options) {
  EncodeResult result;
  result.items.resize(source.size());
  std::vector<GridThw> grids;
  std::vector<std::size_t> sound;
  for (std::size_t i = 0; i < source.size(); ++i) {
    auto header = source.header(i);
    if (auto* failure = std::get_if<ItemFailure>(&header)) {
      result.items[i] = std::move(*failure);
    } else {
      grids.push_back(std::get<ItemHeader>(header).grid);
      sound.push_back(i);
    }
  }
  result.plan = make_batch_plan(grids, options.max_batch_rows);
  if (options.capture == Capture::ahead) runner.prepare(grids_of(result.plan, grids));
  for (Batch& batch : result.plan.batches) {
    for (std::size_t& item : batch.items) item = sound[item];
  }

  Progress progress{source.size() - sound.size(), source.size(), 0};
  const auto load = [&](std::size_t b) {
    return std::async(std::launch::async, [&, b] {
      return load_items(source, result.plan.batches[b].items, options.decode_threads);
    });
  };
  std::future<std::vector<LoadResult>> ahead;
  if (!result.plan.batches.empty()) ahead = load(0);
  for (std::size_t b = 0; b < result.plan.batches.size(); ++b) {
    std::vector<LoadResult> loaded = ahead.get();
    if (b + 1 < result.plan.batches.size()) ahead = load(b + 1);
    run_batch(runner, result.plan.batches[b], std::move(loaded), options.stages, result.items);
    if (options.on_result) {
      for (const std::size_t item : result.plan.batches[b].items) {
        options.on_result(item, result.items[item]);
      }
    }
    progress.items_done += result.plan.batches[b].items.size();
    progress.patches_done += result.plan.batches[b].rows;
    if (options.on_progress) options.on_progress(progress);
  }
  return result;
}

}  // namespace vtower
