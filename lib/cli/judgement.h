// From runs in dumps to a report: judged against the truth, with the cause of what differs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/dump.h"
#include "check/report.h"
#include "checkpoint/checkpoint.h"
#include "cli/judge_arguments.h"
#include "cli/terminal.h"
#include "explain/judge.h"
#include "explain/media_faults.h"

namespace vtower::cli {

// A run or a foreign file, read back.
struct JudgedRun {
  std::string name;
  std::shared_ptr<const Dump> dump;
  Placement placement;                            // what its floors are measured in
  std::vector<std::optional<std::size_t>> place;  // of each judged item in the dump
  bool ours = true;                               // its record says which items shared a batch
};

struct JudgementInput {
  const Checkpoint& checkpoint;
  explain::JudgedItems items;
  // The file behind an item, where there is one. May be empty.
  std::function<std::optional<explain::MediaSource>(std::size_t item)> media;
  std::vector<JudgedRun> runs;
  int threads = 1;
  // Runs of --hypothesis: as causes, not to be judged.
  std::vector<JudgedRun> hypotheses = {};
};

// Pairs, verdict, worst token and, unless the options say no, the cause. Not concluded. Shows
// progress.
Report judged(const JudgementInput& input, const JudgeArguments& arguments,
              const Terminal& terminal);

}  // namespace vtower::cli
