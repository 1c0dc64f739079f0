// The oracle as one more way of running a checkpoint.
#pragma once

#include "engine/runner.h"
#include "oracle/oracle.h"

namespace vtower::cli {

// Item by item, in the oracle's own precision (float64 below a size).
class OracleRunner final : public Runner {
 public:
  explicit OracleRunner(const Checkpoint& checkpoint)
      : oracle_(checkpoint), stages_(declared_stages(checkpoint.vision())) {}
  [[nodiscard]] std::vector<ItemEmbeddings> run(const RawPatches& patches,
                                                const StageTrace& trace) override;
  [[nodiscard]] StageSearch find_non_finite(const RawPatches& patches) override;

 private:
  oracle::Oracle oracle_;
  std::vector<std::string> stages_;  // in the order in which they run
};

}  // namespace vtower::cli
