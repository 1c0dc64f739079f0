#include "cli/selftest.h"

#include <algorithm>
#include <cstdio>

#include "cli/file_source.h"
#include "cli/progress_line.h"
#include "cli/record.h"
#include "core/error.h"
#include "explain/media_faults.h"
#include "explain/selftest.h"

namespace vtower::cli {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

std::string_view word(explain::Naming naming) {
  switch (naming) {
    case explain::Naming::right: return "named";
    case explain::Naming::nothing: return "not named";
    case explain::Naming::wrong: return "wrong name";
    case explain::Naming::not_asked: break;
  }
  return "passes";
}

std::string line_of(const explain::SelftestRow& row) {
  char text[160];
  const std::string name = row.variant.empty() ? row.id : row.id + "." + row.variant;
  std::snprintf(text, sizeof(text), "  %-46s %10s %10s  %s", name.c_str(),
                number(row.effect).c_str(),
                row.smallest_caught ? number(*row.smallest_caught).c_str() : "-",
                std::string(row.missed ? "MISSED" : word(row.naming)).c_str());
  std::string line = text;
  for (const std::string& also : row.also)
    line += (line.ends_with("named") ? " with " : ", ") + also;
  return line;
}

Json json_of(const explain::SelftestRow& row) {
  return {{"id", row.id},
          {"variant", row.variant},
          {"sentence", row.sentence},
          {"effect_in_limits", row.effect},
          {"caught", row.caught},
          {"naming", word(row.naming)},
          {"also", row.also},
          {"smallest_caught", row.smallest_caught ? Json(*row.smallest_caught) : Json()},
          {"missed", row.missed}};
}

struct Inputs {
  std::vector<RawPatches> items;
  std::vector<std::optional<explain::MediaSource>> media;
  std::vector<ItemFailure> failed;
  std::size_t left_out = 0;
};

// The first items that fit into `most_rows`; at least one.
Inputs read_inputs(const FileSource& source, std::int64_t most_rows) {
  Inputs inputs;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    auto loaded = source.load(i);
    if (auto* failure = std::get_if<ItemFailure>(&loaded)) {
      inputs.failed.push_back(*failure);
      continue;
    }
    RawPatches& patches = std::get<LoadedItem>(loaded).patches;
    if (!inputs.items.empty() && rows + patches.rows() > most_rows) {
      ++inputs.left_out;
      continue;
    }
    rows += patches.rows();
    inputs.items.push_back(std::move(patches));
    inputs.media.push_back(source.media(i));
  }
  return inputs;
}

}  // namespace

ExitCode SelftestCommand::operator()(const Terminal& terminal) const {
  const Policy tested = policy.empty() ? Policy::standard() : Policy::read(policy);
  const Checkpoint checkpoint = Checkpoint::open(run.checkpoint);
  const int threads = run.apply_threads();
  const PixelSpec spec = media.apply_to(checkpoint.preprocessor().pixels);
  const FileSource source(media.paths(), spec, media.options, threads);
  const Inputs inputs = read_inputs(source, most_rows);
  std::vector<ExitCode> codes{ExitCode::ok};
  for (const ItemFailure& failure : inputs.failed) {
    terminal.complain(failure.path + ": " + failure.message);
    codes.push_back(exit_code_of(failure.kind));
  }
  explain::Selftest found;
  if (inputs.items.empty()) {
    terminal.complain("[selftest] no item to plant a fault into");
    codes.push_back(ExitCode::vacuous);
  } else {
    ProgressLine progress(terminal, "faults planted");
    found = explain::run_selftest(
        checkpoint, run.placement(checkpoint), inputs.items, explain::media_faults(inputs.media),
        {tested, threads, [&](std::size_t done, std::size_t of) { progress.update(done, of); }});
  }

  const auto count = [&](auto holds) {
    return std::count_if(found.rows.begin(), found.rows.end(), holds);
  };
  using Row = explain::SelftestRow;
  const auto caught = count([](const Row& row) { return row.caught; });
  const auto named = count([](const Row& row) { return row.naming == explain::Naming::right; });
  const auto wrong = count([](const Row& row) { return row.naming == explain::Naming::wrong; });
  const auto missed = count([](const Row& row) { return row.missed; });
  terminal.say("selftest: " + std::to_string(found.rows.size()) + " faults planted into " +
               std::to_string(inputs.items.size()) + " items, k = " + number(tested.k));
  terminal.say("  fault                                           of limit   smallest  cause");
  terminal.say("                                                  at full    strength caught");
  for (const Row& row : found.rows) terminal.say(line_of(row));
  terminal.say(std::to_string(caught) + " caught, " + std::to_string(named) + " named, " +
               std::to_string(wrong) + " named wrongly, " + std::to_string(missed) +
               " missed that this policy should catch; the sound run " +
               (found.sound_passes ? "passes" : "FAILS"));
  if (inputs.left_out > 0) {
    terminal.say(std::to_string(inputs.left_out) +
                 " items were left out, see --max-rows: faults were planted into the others");
  }
  if (!inputs.items.empty()) {
    if (caught == 0) codes.push_back(ExitCode::vacuous);
    if (missed > 0 || wrong > 0 || !found.sound_passes) codes.push_back(ExitCode::differ);
  }
  const ExitCode code = worst(codes);
  Json rows = Json::array();
  for (const Row& row : found.rows) rows.push_back(json_of(row));
  terminal.report({{"sound_passes", found.sound_passes},
                   {"caught", caught},
                   {"named", named},
                   {"named_wrongly", wrong},
                   {"missed", missed},
                   {"items", inputs.items.size()},
                   {"items_left_out", inputs.left_out},
                   {"policy", tested.to_json()},
                   {"faults", std::move(rows)},
                   {"failed", to_json(inputs.failed)},
                   {"exit_code", static_cast<int>(code)}});
  return code;
}

}  // namespace vtower::cli
