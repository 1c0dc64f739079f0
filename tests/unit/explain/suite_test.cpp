// Every fault of the catalogue, planted by ourselves: caught and named, for each family and kind of
// input.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/raw_patch_dump.h"
#include "explain/distance.h"
#include "explain/explain.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;
using namespace vtower::explain;

namespace {

// Items of a reference case, and the limit that a sound run keeps.
struct Input {
  std::vector<RawPatches> items;
  RawPatches batch;
};

Input input_of(const std::string& family, const std::vector<std::string>& cases,
               const PatchLayout& layout) {
  std::vector<RawPatches> items;
  for (const std::string& name : cases) {
    const RawPatches patches = read_raw_patch_dump(
        test::golden("towers/cases/" + family + "/" + name + ".input.safetensors"), layout);
    for (std::size_t i = 0; i < patches.grids().size(); ++i) items.push_back(patches.slice(i, 1));
  }
  std::vector<const RawPatches*> parts;
  for (const RawPatches& item : items) parts.push_back(&item);
  RawPatches batch = RawPatches::concat(parts);
  return {std::move(items), std::move(batch)};
}

struct Outcome {
  int planted = 0;
  int caught = 0;
  int named = 0;
  int wrong = 0;
  std::set<std::string> ids;
};

// `every`: all variants, otherwise the first of each id.
Outcome run_suite(const std::string& family, const std::vector<std::string>& cases, DType dtype,
                  bool every) {
  const std::string type = dtype == DType::f32 ? "fp32" : "bf16";
  const Checkpoint checkpoint =
      Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-" + type));
  const Placement placement{dtype};
  const Input input = input_of(family, cases, checkpoint.vision().layout);
  const PlantedTower run(checkpoint, placement);
  const PlantedTower wide(checkpoint, {dtype == DType::f32 ? DType::f64 : DType::f32});
  const PlantedEmbeddings sound = run.encode(input.batch);
  const PlantedEmbeddings truth = wide.encode(input.batch);
  const auto rows_of_item = [&](const Tensors& tensors, std::size_t item) {
    std::int64_t first = 0;
    const std::int64_t merge = checkpoint.vision().layout.merge_size;
    for (std::size_t i = 0; i < item; ++i) first += input.items[i].grids().front().tokens(merge);
    return tokens_of(tensors, first, input.items[item].grids().front().tokens(merge));
  };
  const auto views = [](const Tensors& tensors) {
    ItemRows rows;
    for (const at::Tensor& tensor : tensors) rows.push_back(rows_of(tensor));
    return rows;
  };
  const Explainer explainer(checkpoint, placement, {});
  Outcome outcome;
  for (const Fault& fault :
       catalogue({checkpoint.vision(), checkpoint.preprocessor().norm, input.batch.grids()})) {
    if (!every && outcome.ids.contains(fault.id)) continue;
    CAPTURE(family);
    CAPTURE(fault.name());
    const PlantedEmbeddings faulty = run.encode(fault, input.batch, sound);
    Evidence evidence;
    std::vector<std::pair<double, std::size_t>> failing;
    std::vector<Tensors> kept;
    for (std::size_t i = 0; i < input.items.size(); ++i) {
      kept.push_back(rows_of_item(faulty.tensors(), i));
      const Tensors expected = rows_of_item(truth.tensors(), i);
      const Distance floor = distance(views(rows_of_item(sound.tensors(), i)), expected, 1);
      const Distance found = distance(views(kept.back()), expected, 1);
      evidence.items.push_back(&input.items[i]);
      evidence.rows.push_back(views(kept.back()));
      if (!(found.worst <= 3 * floor.worst)) failing.emplace_back(-found.worst, i);
    }
    ++outcome.planted;
    if (failing.empty()) continue;  // cannot show here, or is below what rounding hides
    ++outcome.caught;
    outcome.ids.insert(fault.id);
    std::sort(failing.begin(), failing.end());
    for (const auto& [error, item] : failing) evidence.failing.push_back(item);
    const Explanation found = explainer.explain(evidence);
    const bool right = std::any_of(found.fits.begin(), found.fits.end(),
                                   [&](const Candidate& fit) { return fit.id == fault.id; });
    outcome.named += right ? 1 : 0;
    if (!right) {
      ++outcome.wrong;
      MESSAGE(fault.name()
              << " of " << -failing.front().first << " is called "
              << (found.fits.empty() ? std::string("nothing")
                                     : found.fits.front().id + "." + found.fits.front().variant)
              << "; next "
              << (found.runner_up ? found.runner_up->id + "." + found.runner_up->variant : "none")
              << " pooled " << (found.runner_up ? found.runner_up->pooled : 0.0));
    }
    if (found.fits.size() > 1) {
      std::string set;
      for (const Candidate& fit : found.fits) set += " " + fit.id + "." + fit.variant;
      MESSAGE(fault.name() << " cannot be told from" << set);
    }
    CHECK((right || found.fits.empty()));
  }
  MESSAGE(family << " " << type << ": " << outcome.planted << " planted, " << outcome.caught
                 << " caught, " << outcome.named << " named");
  CHECK(outcome.named >= 0.95 * outcome.caught);
  return outcome;
}

}  // namespace

TEST_CASE("suite: each id on pictures, clips and both") {
  for (const std::string family : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl"}) {
    run_suite(family, {"partial_windows"}, DType::f32, false);
    run_suite(family, {"video"}, DType::f32, false);
    run_suite(family, {"batch", "video"}, DType::f32, false);
  }
}

TEST_CASE("suite: each id in bf16") {
  for (const std::string family : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl"}) {
    run_suite(family, {"batch", "video"}, DType::bf16, false);
  }
}

TEST_CASE("suite: every variant") {
  run_suite("qwen2_5_vl", {"batch", "video"}, DType::f32, true);
}
