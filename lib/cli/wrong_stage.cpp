#include "cli/wrong_stage.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "core/error.h"
#include "explain/depth.h"

namespace vtower::cli {
namespace {

at::Tensor tensor_of(const TokenRows& rows) {
  at::Tensor tensor = at::empty({rows.rows, rows.width}, to_scalar_type(rows.dtype));
  auto* out = static_cast<std::uint8_t*>(tensor.mutable_data_ptr());
  for (std::int64_t i = 0; i < rows.rows; ++i, out += rows.row_bytes()) {
    std::memcpy(out, rows.row(i).data(), rows.row_bytes());
  }
  return tensor;
}

// The stages of the item that the dump holds beside its embeddings.
explain::StageTensors stages_in(const Dump& dump, std::size_t place,
                                const std::vector<explain::StageError>& names) {
  explain::StageTensors stages;
  for (const explain::StageError& stage : names) {
    try {
      DumpOptions options;
      options.stage = stage.name;
      const Dump of_stage = Dump::open(dump.path(), options);
      if (of_stage.stage() == stage.name && place < of_stage.items().size()) {
        stages[stage.name] = tensor_of(of_stage.items()[place].embeddings);
      }
    } catch (const Error&) {
      continue;  // a stage that is not there, or is not of these items
    }
  }
  return stages;
}

bool ran_eagerly(const Dump& dump) {
  const auto& record = dump.record();
  return record.is_object() && record.contains("attestation") &&
         record["attestation"].value("mode", "") == "eager";
}

}  // namespace

std::optional<std::string> wrong_stage(const Checkpoint& checkpoint, const Placement& placement,
                                       const Dump& dump, std::size_t place, const RawPatches& item,
                                       double k, int threads) {
  const explain::Depth depth(checkpoint, placement, item, threads);
  const explain::StageTensors stages = stages_in(dump, place, depth.eager());
  if (stages.size() > 1) return explain::first_wrong_stage(depth.of(stages), k);
  if (ran_eagerly(dump)) return explain::first_wrong_stage(depth.eager(), k);
  return std::nullopt;
}

}  // namespace vtower::cli
