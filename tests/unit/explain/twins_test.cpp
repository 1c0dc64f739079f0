// Faults that others planted, into Hugging Face's own modules: each must be named, none wrongly.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "check/item_comparison.h"
#include "core/raw_patch_dump.h"
#include "explain/distance.h"
#include "explain/explain.h"
#include "oracle/oracle.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"

using namespace vtower;
using namespace vtower::explain;

namespace {

// One input of the twins: its items, the truth, and what rounding makes of it.
struct Subject {
  std::vector<RawPatches> items;
  std::vector<Tensors> truth;
  double floor = 0;
};

Subject subject(const Checkpoint& checkpoint, const std::string& input) {
  const RawPatches patches =
      read_raw_patch_dump(test::golden("towers/" + input), checkpoint.vision().layout);
  const oracle::Oracle oracle(checkpoint);
  const PlantedTower eager(checkpoint, Placement{});
  Subject found;
  for (std::size_t i = 0; i < patches.grids().size(); ++i) {
    found.items.push_back(patches.slice(i, 1));
    oracle::OracleOutput output = oracle.encode_item(patches, i);
    Tensors& truth = found.truth.emplace_back(Tensors{output.embeddings});
    truth.insert(truth.end(), output.deepstack.begin(), output.deepstack.end());
    const PlantedEmbeddings run = eager.encode(found.items.back());
    std::vector<TokenRows> rows;
    for (const at::Tensor& tensor : run.tensors()) rows.push_back(rows_of(tensor));
    found.floor = std::max(found.floor, distance(rows, truth, 1).worst);
  }
  return found;
}

// The tensors of a twin: embeddings, then deepstack levels.
Tensors twin_tensors(const SafetensorsFile& file) {
  Tensors tensors{test::load_tensor(file, "merger")};
  for (int j = 0; file.find("deepstack." + std::to_string(j)) != nullptr; ++j) {
    tensors.push_back(test::load_tensor(file, "deepstack." + std::to_string(j)));
  }
  return tensors;
}

}  // namespace

TEST_CASE("twins: every fault above the limit is caught and named") {
  const nlohmann::json index = test::golden_json("twins/index.json");
  int caught = 0;
  int named = 0;
  int below = 0;
  for (const auto& [key, twins] : index["twins"].items()) {
    const Checkpoint checkpoint = Checkpoint::open(
        test::golden("towers/checkpoints/" + twins["checkpoint"].get<std::string>()));
    const Subject subject = ::subject(checkpoint, twins["input"].get<std::string>());
    const Explainer explainer(checkpoint, Placement{}, {});
    for (const auto& [fault, entry] : twins["faults"].items()) {
      CAPTURE(key);
      CAPTURE(fault);
      const SafetensorsFile file(test::golden("twins/" + entry["file"].get<std::string>()),
                                 ErrorKind::unreadable);
      const Tensors tensors = twin_tensors(file);
      Evidence evidence;
      std::vector<std::pair<double, std::size_t>> failing;
      std::int64_t first = 0;
      for (std::size_t i = 0; i < subject.items.size(); ++i) {
        evidence.items.push_back(&subject.items[i]);
        const std::int64_t count = subject.truth[i].front().size(0);
        ItemRows rows;
        for (const at::Tensor& tensor : tensors) {
          rows.push_back(rows_of(tensor).slice(first, count));
        }
        first += count;
        const double error = distance(rows, subject.truth[i], 1).worst;
        if (!(error <= 3 * subject.floor)) failing.emplace_back(-error, i);
        evidence.rows.push_back(std::move(rows));
      }
      if (failing.empty()) {
        ++below;
        MESSAGE(key << " " << fault << ": below the limit");
        continue;
      }
      ++caught;
      std::sort(failing.begin(), failing.end());
      for (const auto& [error, item] : failing) evidence.failing.push_back(item);
      const Explanation found = explainer.explain(evidence);
      const std::string id = fault.substr(0, fault.find('.'));
      const bool right = std::any_of(found.fits.begin(), found.fits.end(),
                                     [&](const Candidate& fit) { return fit.id == id; });
      named += right ? 1 : 0;
      if (!right) {
        MESSAGE(key << " " << fault << " worst " << -failing.front().first << " limit "
                    << 3 * subject.floor);
        for (const Candidate& fit : found.fits) {
          MESSAGE("  fits " << fit.id << "." << fit.variant << " " << fit.residual << " of "
                            << fit.limit << " pooled " << fit.pooled);
        }
        if (found.runner_up) {
          MESSAGE("  runner-up " << found.runner_up->id << "." << found.runner_up->variant << " "
                                 << found.runner_up->residual << " of " << found.runner_up->limit
                                 << " pooled " << found.runner_up->pooled);
        }
      }
      CHECK((right || found.fits.empty()));  // never a wrong name
      CHECK(found.fits.size() <= 2);
    }
  }
  MESSAGE(caught << " caught, " << named << " named, " << below << " below the limit");
  CHECK(below <= 1);  // eps_other on one input: 4e-6, below what can be told from rounding
  CHECK(named >= 0.95 * caught);
}
