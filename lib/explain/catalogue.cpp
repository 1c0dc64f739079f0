#include <algorithm>
#include <iterator>

#include "explain/fault.h"

namespace vtower::explain {

std::vector<Fault> catalogue(const Setting& setting) {
  std::vector<Fault> all;
  for (const auto make : {norm_faults, pixel_faults, output_faults, plan_faults, padding_faults,
                          flow_faults, arithmetic_faults, weight_faults}) {
    std::vector<Fault> some = make(setting);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Fault& a, const Fault& b) { return a.rank < b.rank; });
  return all;
}

}  // namespace vtower::explain
