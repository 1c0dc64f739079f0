// Reports of every kind, with numbers and names that are hard to write down.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check/report.h"

namespace vtower::test {

inline ItemReport sample_item(const std::string& name, double error, double limit) {
  ItemReport item;
  item.item = name;
  item.grid = GridThw{1, 4, 6};
  item.limit = limit;
  item.floor = limit / 3;
  item.input_sha256 = std::string(64, 'a');
  item.comparison.tokens = 6;
  item.comparison.worst_token = 2;
  item.comparison.worst_error = error;
  item.comparison.errors = std::vector<float>(6, 0.0F);
  item.comparison.errors[2] = static_cast<float>(error);
  return item;
}

inline PairReport sample_pair(std::vector<ItemReport> items) {
  PairReport pair;
  pair.a = "graph, replay 2";
  pair.b = "oracle";
  pair.items = std::move(items);
  pair.smallest_k = smallest_k_of(pair.items);
  pair.verdict = verdict_of(pair);
  return pair;
}

// Means something to JSON, XML, a terminal or none of them.
inline std::string hostile_name() {
  return "a\"<b>&'\n\x1b[31m\x01\xff\xc3(\xed\xa0\x80\xef\xbf\xbf]]>\xc2\x9b \xe2\x82\xac.png";
}

inline Report agreeing_report() {
  Report report;
  report.command = "check";
  report.pairs = {sample_pair({sample_item("x.png", 0.5e-3, 1e-3), sample_item("y.png", 0, 1e-3)})};
  report.policy = {{"k", 3}};
  report.attestation = {{"eager", {{"mode", "eager"}}}};
  return report;
}

inline Report differing_report() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Report report;
  report.command = "check";
  report.verdict = Verdict::differ;
  report.exit_code = 3;
  report.cause = Cause{"norm_skipped",
                       {"norm_on_bytes"},
                       "the normalisation was skipped",
                       "graph, replay 2",
                       1e-6,
                       3e-6,
                       RunnerUp{"norm_twice", nan}};
  report.algebra = {"b is a scaled by 1.86"};
  ItemReport broken = sample_item("x.png", nan, 1e-3);
  broken.comparison.non_finite_a = 7;
  broken.comparison.smallest_cosine = nan;
  broken.comparison.largest_norm_ratio = infinity;
  ItemReport deep = sample_item("x.png", infinity, 1e-3);
  deep.tensor = "deepstack.0";
  deep.comparison.beyond = 5;
  ItemReport sound = sample_item("y.png", 1e-4, 1e-3);
  report.pairs = {sample_pair({broken, deep, sound}), sample_pair({sound})};
  report.pairs[1].a = "eager";
  report.worst = Worst{"graph, replay 2 against oracle",
                       "x.png",
                       "embeddings",
                       2,
                       std::vector<std::int64_t>{56, 0, 84, 28},
                       std::vector<std::int64_t>{0, 1},
                       nan,
                       1e-3,
                       "all tokens"};
  report.ledger = {{"range", nan}};
  report.not_run = {"graph: no CUDA device here"};
  report.failed = {{{"path", "z.png"}, {"class", "truncated"}, {"message", "ends early"}}};
  report.first_wrong_stage = "block.0.attn";
  return report;
}

inline Report incomparable_report() {
  Report report;
  report.command = "diff";
  report.verdict = Verdict::not_comparable;
  report.exit_code = 4;
  PairReport pair = sample_pair({sample_item("x.png", 0, 1e-3)});
  pair.skipped = {{"y.png", "", Verdict::not_comparable, "only in a"},
                  {"x.png", "deepstack.1", Verdict::vacuous, "all zero on both sides"}};
  pair.verdict = verdict_of(pair);
  pair.reason = "y.png: only in a";
  report.pairs = {pair};
  return report;
}

inline Report vacuous_report() {
  Report report;
  report.command = "diff";
  report.verdict = Verdict::vacuous;
  report.exit_code = 9;
  report.pairs.emplace_back();
  report.pairs[0].verdict = Verdict::vacuous;
  report.pairs[0].reason = "a and b are the same file: a.npy";
  return report;
}

inline Report empty_report() {
  Report report;
  report.command = "check";
  report.verdict = Verdict::vacuous;
  report.exit_code = 9;
  return report;
}

inline Report hostile_report() {
  const std::string name = hostile_name();
  Report report = differing_report();
  report.cause->sentence = name;
  report.notes = {name};
  report.pairs[0].a = name;
  report.pairs[0].notes = {name};
  for (ItemReport& item : report.pairs[0].items) item.item += name;
  report.worst->item = name;
  report.ledger = {{name, name}};
  report.failed[0]["path"] = name;
  report.not_run = {name};
  return report;
}

inline std::vector<std::pair<std::string, Report>> sample_reports() {
  return {{"agree", agreeing_report()},
          {"differ", differing_report()},
          {"not_comparable", incomparable_report()},
          {"vacuous", vacuous_report()},
          {"hostile", hostile_report()},
          {"empty", empty_report()}};
}

}  // namespace vtower::test
