#include "oracle/oracle.h"

#include <utility>

#include "core/error.h"
#include "oracle/pieces.h"
#include "oracle/pixel_norm.h"
#include "oracle/tower_weights.h"

namespace vtower::oracle {
namespace {

TowerResult encode(const Item& item, const Weights& weights, const VisionConfig& config,
                   StageLog& log) {
  switch (config.family) {
    case Family::qwen2_vl: return encode_qwen2_vl(item, weights, config, log);
    case Family::qwen2_5_vl: return encode_qwen2_5_vl(item, weights, config, log);
    case Family::qwen3_vl: break;
  }
  return encode_qwen3_vl(item, weights, config, log);
}

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::bf16: return at::kBFloat16;
    case DType::f16: return at::kHalf;
    case DType::f32: return at::kFloat;
    default: return at::kDouble;
  }
}

}  // namespace

StageRequest StageRequest::all() {
  StageRequest request;
  request.all_ = true;
  return request;
}

StageRequest StageRequest::of(std::set<std::string> names) {
  StageRequest request;
  request.names_ = std::move(names);
  return request;
}

Oracle::Oracle(const Checkpoint& checkpoint, const OracleOptions& options)
    : config_(checkpoint.vision()),
      constants_(checkpoint.preprocessor().norm),
      options_(options),
      weights_(std::make_unique<const TowerWeights>(checkpoint.weights(), config_)) {}

Oracle::~Oracle() = default;
Oracle::Oracle(Oracle&&) noexcept = default;

OracleOutput Oracle::encode_item(const RawPatches& patches, std::size_t item,
                                 const StageRequest& stages) const {
  if (item >= patches.grids().size()) {
    throw Error(ErrorKind::out_of_range, "oracle",
                "item " + std::to_string(item) + " of " + std::to_string(patches.grids().size()));
  }
  if (patches.layout() != config_.layout) {
    throw Error(ErrorKind::out_of_range, "oracle",
                "the rows have another layout than the checkpoint's tower");
  }
  const GridThw& grid = patches.grids()[item];
  const bool wide = grid.patches() <= options_.largest_float64_item;
  const DType type = options_.rounded_to.value_or(wide ? DType::f64 : DType::f32);
  const Weights weights{*weights_, scalar_type(type)};
  const Item input{PixelNorm(constants_)(patches, item), grid,
                   places_in_merge_order(grid, config_.layout.merge_size)};
  StageLog log(stages);
  log.put("normalized", input.normalized);
  TowerResult result = encode(input, weights, config_, log);

  OracleOutput output;
  output.computed_in = type;
  output.embeddings = result.embeddings.to(at::kDouble);
  log.put("merger", output.embeddings);
  for (const at::Tensor& level : result.deepstack) {
    output.deepstack.push_back(level.to(at::kDouble));
  }
  output.stages = log.take();
  for (const std::string& name : stages.names()) {
    if (!output.stages.contains(name)) {
      throw Error(ErrorKind::usage, "oracle",
                  "no stage \"" + name + "\" in a tower of " +
                      std::string(to_string(config_.family)) + " with " +
                      std::to_string(config_.depth) + " blocks");
    }
  }
  return output;
}

}  // namespace vtower::oracle
