// From inputs to embeddings: decode ahead, run batch by batch, answer in request order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/item.h"
#include "engine/batch_plan.h"
#include "engine/runner.h"

namespace vtower {

struct EncodedItem {
  ItemEmbeddings embeddings;
  ItemRecord record;
  std::map<std::string, at::Tensor> stages;  // the item's own rows of each stage asked for
};

using ItemResult = std::variant<EncodedItem, ItemFailure>;

// What has been done so far.
struct Progress {
  std::size_t items_done = 0;
  std::size_t items = 0;
  std::int64_t patches_done = 0;
};

// When a runner that captures does so: as batches come, or all that the plan needs ahead of them.
enum class Capture { lazy, ahead };

struct EncodeOptions {
  std::int64_t max_batch_rows = 0;
  int decode_threads = 1;
  Capture capture = Capture::lazy;
  std::set<std::string> stages;                      // names of tower/stage_trace.h to keep
  std::function<void(const Progress&)> on_progress;  // called between batches, may be empty
  // Called for each item of a batch once it has run; may move the result away. May be empty.
  std::function<void(std::size_t item, ItemResult& result)> on_result;
};

struct EncodeResult {
  BatchPlan plan;                 // over the items whose headers were sound
  std::vector<ItemResult> items;  // one for each input, in request order
};

// The plan is made from headers; while a batch runs, the next one is decoded. A failing item fails
// alone. Throws Error only for what stops the whole run.
EncodeResult encode_items(const ItemSource& source, Runner& runner, const EncodeOptions& options);

// The part of it behind the plan, whose indices are the source's; items that it leaves out count as
// done. Results come through options.on_result alone.
void encode_batches(const ItemSource& source, const BatchPlan& plan, Runner& runner,
                    const EncodeOptions& options);

}  // namespace vtower
