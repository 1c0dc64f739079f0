// The ledgers of a run, checked one by one and summed up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tower/ledger.h"
#include "tower/vision_tower.h"

namespace vtower {

struct ChannelRange {
  float smallest = 0;
  float largest = 0;
};

// What the passes of a runner amounted to. Captured passes count each time they are replayed.
struct LedgerRecord {
  std::int64_t passes = 0;
  std::vector<LedgerEntry> stages;            // of the last pass
  std::array<ChannelRange, 3> norm_allowed;   // what the constants make of the bytes 0 and 255
  std::array<ChannelRange, 3> norm_observed;  // over all passes
};

// Both together.
LedgerRecord joined(const LedgerRecord& a, const LedgerRecord& b);

// Checks each pass against the tower: every declared stage ran exactly once, in order, on the
// tower's device and in its dtype, and the normalised pixels lie where the constants put bytes. A
// pass that skipped the normalisation, or did it twice, does not. Not thread-safe.
class LedgerCheck {
 public:
  explicit LedgerCheck(const VisionTower& tower);

  // `norm_range` is ledger.norm_range on the host. Throws Error{device} naming what is wrong.
  void add(const Ledger& ledger, const at::Tensor& norm_range);

  [[nodiscard]] const LedgerRecord& record() const noexcept { return record_; }

 private:
  void check_stages(const Ledger& ledger) const;
  void check_range(const at::Tensor& norm_range);

  std::vector<std::string> declared_;
  Placement placement_;
  LedgerRecord record_;
};

}  // namespace vtower
