#include "cli/record.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include "cli/version.h"
#include "media/library_versions.h"

namespace vtower::cli {

Json versions_json() {
  Json versions{{"vtower", version}, {"torch", TORCH_VERSION}};
  for (const auto& [library, text] : media_library_versions()) versions[library] = text;
  return versions;
}

std::string cpu_capability() {
  return at::get_cpu_capability();
}

Json origins_json(const std::vector<ValueOrigin>& origins) {
  Json list = Json::object();
  for (const ValueOrigin& entry : origins) {
    list[entry.name] = {{"value", entry.value}, {"origin", entry.origin}};
  }
  return list;
}

Json checkpoint_json(const Checkpoint& checkpoint) {
  const WeightSource weights = checkpoint.weights();
  return {{"hash", weights.hash()},
          {"family", to_string(checkpoint.vision().family)},
          {"prefix", checkpoint.prefix()},
          {"tensors", weights.tensor_count()},
          {"notes", checkpoint.notes()}};
}

Json norm_json(const PreprocessorConfig& preprocessor) {
  const NormConstants& norm = preprocessor.norm;
  return {{"mean", norm.mean()},
          {"std", norm.std()},
          {"rescale_factor", norm.rescale_factor()},
          {"origins", origins_json(preprocessor.origins)},
          {"notes", preprocessor.notes}};
}

Json profile_json(const MediaArguments& media) {
  return {{"name", to_string(media.options.profile)}, {"options", media.to_json()}};
}

Json plan_json(const BatchPlan& plan) {
  Json batches = Json::array();
  for (const Batch& batch : plan.batches) batches.push_back(batch.items);
  return {{"max_batch_rows", plan.max_rows}, {"batches", std::move(batches)}};
}

Json attestation_json(std::string_view mode, const Placement& placement, int threads) {
  return {{"mode", mode},
          {"captured", false},
          {"device", placement.device.str()},
          {"dtype", to_string(placement.dtype)},
          {"world_size", 1},
          {"threads", threads},
          {"cpu_capability", cpu_capability()},
          {"tf32", false},
          {"reduced_precision_reduction", false}};
}

std::map<std::string, std::string> file_metadata(const Json& record) {
  return {{"format", "pt"},
          {"vtower", record.dump(-1, ' ', false, Json::error_handler_t::replace)}};
}

}  // namespace vtower::cli
