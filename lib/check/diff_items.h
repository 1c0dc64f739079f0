// Two dumps against each other, without a truth: which items belong together, whether they may be
// compared at all, and how far they are apart.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "check/dump.h"
#include "check/policy.h"
#include "check/report.h"

namespace vtower {

// As much of a Dump as a comparison takes; the spans and the record must outlive it.
struct DiffSide {
  std::string name;  // in the report
  std::span<const DumpItem> items;
  const nlohmann::ordered_json* record = nullptr;  // null or a JSON null for foreign dumps
  std::string stage = "embeddings";
  bool has_keys = false;
  std::vector<std::string> notes;

  static DiffSide of(const Dump& dump);
};

// At least one item was compared; pair.skipped lists the others.
struct Compared {
  PairReport pair;
};

// No item could be compared.
struct NotComparable {
  std::string reason;
  std::vector<SkippedItem> skipped;
  std::vector<std::string> notes;
};

// There was nothing to compare.
struct Vacuous {
  std::string reason;
  std::vector<SkippedItem> skipped;
  std::vector<std::string> notes;
};

using Comparison = std::variant<Compared, NotComparable, Vacuous>;

struct DiffOptions {
  Policy policy = Policy::standard();
  int threads = 1;
};

// Items are matched by their keys where both sides have keys (the k-th of a key with the k-th),
// otherwise by their place. Notes come before any number: differences of choice in the records
// (profile options, versions, inputs, dtype) and what had to be assumed. Thread-safe. Throws as
// compare_items() does.
Comparison diff_items(const DiffSide& a, const DiffSide& b, const DiffOptions& options);
// The same file or folder on both sides is vacuous.
Comparison diff_items(const Dump& a, const Dump& b, const DiffOptions& options);

// `a` and `b`: names of the sides.
PairReport to_report(Comparison comparison, const std::string& a, const std::string& b);

}  // namespace vtower
