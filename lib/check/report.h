// What a check or a diff found: one value that all forms of the report are written from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/item_comparison.h"
#include "core/grid_thw.h"

namespace vtower {

enum class Verdict { agree, differ, not_comparable, vacuous };

std::string_view to_string(Verdict verdict) noexcept;

// Tokens of one item on both sides of a pair. One entry for the embeddings and one for each
// deepstack level.
struct ItemReport {
  std::string item;
  std::string tensor = "embeddings";  // or "deepstack.J"
  std::optional<GridThw> grid;
  ItemComparison comparison;
  double limit = 0;
  std::optional<double> floor;  // what rounding alone can make, where it was measured
  std::string input_sha256;     // of the input's bytes, where it is known

  [[nodiscard]] bool passes() const noexcept {
    return comparison.within(limit) && comparison.beyond == 0;
  }
  // Share of the limit that is used; NaN where a token is not finite, infinite where none is
  // allowed.
  [[nodiscard]] double used() const noexcept { return token_error(comparison.worst_error, limit); }
  [[nodiscard]] std::int64_t tokens_beyond() const noexcept;
};

// What one side alone has, or both have in ways that cannot be compared.
struct SkippedItem {
  std::string item;
  std::string tensor;                         // empty: the whole item
  Verdict verdict = Verdict::not_comparable;  // or vacuous: nothing in it to compare
  std::string reason;
};

// One run against the truth, or two dumps against each other.
struct PairReport {
  std::string a;  // "graph, n-th replay", a file
  std::string b;  // "oracle", a file
  Verdict verdict = Verdict::agree;
  std::string reason;  // of not_comparable and vacuous
  std::vector<ItemReport> items;
  std::vector<SkippedItem> skipped;
  bool identical = false;            // all items hold the same bytes, none was skipped
  bool must_be_identical = false;    // --exact
  std::optional<double> smallest_k;  // limit = k * floor that would pass; none without floors
  std::vector<std::string> notes;
};

// What `items`, `skipped` and `must_be_identical` come to: differ before not_comparable before
// vacuous before agree. No item at all is vacuous.
Verdict verdict_of(const PairReport& pair);
// The smallest k with which every item that has a floor passes; infinite where a token is not
// finite. Empty without floors.
std::optional<double> smallest_k_of(const std::vector<ItemReport>& items);

struct RunnerUp {
  std::string id;
  double residual = 0;
};

// The fault that explains a differing side.
struct Cause {
  std::string id;                 // "norm_skipped"
  std::vector<std::string> also;  // other faults that these inputs cannot tell apart from it
  std::string sentence;           // what went wrong, for people
  std::string side;               // the run or file that has it
  double residual = 0;            // worst token error that is left under the fault
  double limit = 0;               // what rounding allows under the fault
  std::optional<RunnerUp> runner_up;
  std::string variant = "";  // of the id: "qkv", "3-mlp"; empty where there is one way only
};

// Where the worst token lies.
struct Worst {
  std::string pair;
  std::string item;
  std::string tensor;
  std::int64_t token = 0;
  // x0, y0, x1, y1 in pixels of the resized picture; frames [first, last] of a clip.
  std::optional<std::vector<std::int64_t>> box_px;
  std::optional<std::vector<std::int64_t>> frames;
  double value = 0;
  double limit = 0;
  std::string pattern;  // of all tokens above the limit: "all tokens", "the last 12 tokens", ...
};

struct Report {
  std::string command;  // "check", "diff"
  Verdict verdict = Verdict::agree;
  int exit_code = 0;
  std::optional<Cause> cause;
  std::vector<std::string> algebra;  // "b is a scaled by 1.86": found from the numbers alone
  std::optional<Worst> worst;
  std::vector<PairReport> pairs;
  nlohmann::ordered_json policy;
  nlohmann::ordered_json ledger;  // of each run by its name; the next two likewise
  nlohmann::ordered_json plan;
  nlohmann::ordered_json attestation;
  std::vector<std::string> notes;    // differences of choice, assumptions
  std::vector<std::string> not_run;  // modes that could not run, with their reason
  nlohmann::ordered_json failed = nlohmann::ordered_json::array();  // items
  std::string first_wrong_stage;  // where nothing fits: first stage outside of its floor
  std::vector<std::string> next_steps;
};

}  // namespace vtower
