// The fault that started it all, as a real CUDA graph: captured over a tower without its norm.
#include <algorithm>
#include <string>
#include <vector>

#include "explain/distance.h"
#include "explain/explain.h"
#include "oracle/oracle.h"
#include "support/towers.h"

using namespace vtower;
using namespace vtower::explain;

namespace {

Fault norm_fault(const Checkpoint& checkpoint, const std::vector<GridThw>& grids,
                 const std::string& id) {
  for (Fault& fault : norm_faults({checkpoint.vision(), checkpoint.preprocessor().norm, grids})) {
    if (fault.id == id) return std::move(fault);
  }
  FAIL("no fault " << id);
  return {};
}

}  // namespace

TEST_CASE("a graph captured without the norm, or with it twice, is caught and named") {
  for (const std::string& family : test::families) {
    for (const DType dtype : {DType::bf16, DType::f32}) {
      const std::string type = dtype == DType::bf16 ? "bf16" : "fp32";
      const Checkpoint checkpoint =
          Checkpoint::open(test::golden("towers/checkpoints/" + family + "-tiny-" + type));
      const Placement placement{dtype, c10::Device(c10::kCUDA, 0)};
      const PlantedTower tower(checkpoint, placement);
      const std::vector<GridThw> grids{{1, 8, 8}, {2, 4, 6}};
      const RawPatches batch = test::noise_patches(checkpoint.vision().layout, grids, 7);
      for (const std::string id : {"norm_skipped", "norm_doubled"}) {
        CAPTURE(family);
        CAPTURE(type);
        CAPTURE(id);
        const PlantedEmbeddings graph =
            tower.encode_in_graph(norm_fault(checkpoint, grids, id), batch);
        std::vector<RawPatches> items;
        Evidence evidence;
        for (std::size_t i = 0; i < grids.size(); ++i) items.push_back(batch.slice(i, 1));
        std::vector<Tensors> kept;
        std::int64_t first = 0;
        const oracle::Oracle oracle(checkpoint);
        for (std::size_t i = 0; i < grids.size(); ++i) {
          const std::int64_t tokens = grids[i].tokens(checkpoint.vision().layout.merge_size);
          kept.push_back(tokens_of(graph.tensors(), first, tokens));
          first += tokens;
          evidence.items.push_back(&items[i]);
          ItemRows rows;
          for (const at::Tensor& tensor : kept.back()) rows.push_back(rows_of(tensor));
          evidence.rows.push_back(std::move(rows));
          evidence.failing.push_back(i);
          const Distance error = distance({rows_of(kept.back().front())},
                                          {oracle.encode_item(batch, i).embeddings}, 1);
          CHECK(error.worst > 0.1);
        }
        const Explanation found = Explainer(checkpoint, placement, {}).explain(evidence);
        REQUIRE(!found.fits.empty());
        CHECK(std::any_of(found.fits.begin(), found.fits.end(),
                          [&](const Candidate& fit) { return fit.id == id; }));
        MESSAGE(family << " " << type << ": " << found.fits.front().sentence << "; residual "
                       << found.fits.front().residual << " of " << found.fits.front().limit);
      }
    }
  }
}
