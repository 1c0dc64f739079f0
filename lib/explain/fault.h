// What can be wrong with a run, as definitions that can be re-run.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/raw_patches.h"
#include "tower/vision_tower.h"

namespace vtower::explain {

// Tokens of a batch: embeddings and deepstack levels, each [M, out].
using Tensors = std::vector<at::Tensor>;

// One fault. Whatever is empty is as it should be.
struct Fault {
  std::string id;        // of the catalogue: "bias_dropped"
  std::string variant;   // "qkv", "block 3"; empty where there is one way only
  std::string sentence;  // what it is, for people

  // The items of a batch influence each other: it can only be seen on the batch as it ran.
  bool needs_batch = false;
  // Likelier ones are tried first; faults of one block come last.
  enum class Rank { likely, usual, per_block } rank = Rank::usual;

  std::function<NormTable(const NormTable& own)> norm;
  std::function<RawPatches(const RawPatches&)> pixels;  // rows for rows; more may follow
  std::function<void(VisionConfig&)> config;            // loads a tower of its own
  WeightSource::Editor weights;                         // likewise
  std::function<void(SeqPlan&)> plan;
  std::function<StageTrace(const SeqPlan&)> trace;  // overwrites stages on their way
  std::function<Tensors(const Tensors&)> output;

  // "bias_dropped.qkv"
  [[nodiscard]] std::string name() const { return variant.empty() ? id : id + "." + variant; }
};

// What a catalogue is made for: faults that cannot show here are left out.
struct Setting {
  const VisionConfig& config;
  const NormConstants& norm;
  std::span<const GridThw> grids;  // of the batch, in its order
};

std::vector<Fault> norm_faults(const Setting& setting);
std::vector<Fault> pixel_faults(const Setting& setting);
std::vector<Fault> plan_faults(const Setting& setting);
std::vector<Fault> padding_faults(const Setting& setting);
std::vector<Fault> arithmetic_faults(const Setting& setting);
std::vector<Fault> weight_faults(const Setting& setting);
std::vector<Fault> flow_faults(const Setting& setting);
std::vector<Fault> output_faults(const Setting& setting);

// All of them, likely ones first.
std::vector<Fault> catalogue(const Setting& setting);

// The ids of the catalogue, whatever the setting, those of pixels' preparation included.
std::vector<std::string> catalogue_ids();

}  // namespace vtower::explain
