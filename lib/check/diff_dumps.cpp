#include "check/diff_items.h"

namespace vtower {

DiffSide DiffSide::of(const Dump& dump) {
  return {dump.path().string(), dump.items(),    &dump.record(),
          dump.stage(),         dump.has_keys(), dump.notes()};
}

Comparison diff_items(const Dump& a, const Dump& b, const DiffOptions& options) {
  if (same_file(a.path(), b.path())) {
    return Vacuous{"a and b are the same file: " + a.path().string(), {}, {}};
  }
  return diff_items(DiffSide::of(a), DiffSide::of(b), options);
}

}  // namespace vtower
