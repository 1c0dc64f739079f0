#include "cli/encode.h"

#include <memory>

#include "cli/embeddings_file.h"
#include "cli/file_source.h"
#include "cli/mode_run.h"
#include "cli/progress_line.h"
#include "cli/record.h"
#include "engine/encode_items.h"
#include "oracle/oracle.h"

namespace vtower::cli {
namespace {

// The stages asked for, checked against those that this tower has.
std::set<std::string> stages_of(const VisionConfig& config, const std::vector<std::string>& asked) {
  const std::vector<std::string> declared = declared_stages(config);
  const std::set<std::string> known(declared.begin(), declared.end());
  std::set<std::string> stages;
  for (const std::string& name : asked) {
    if (name == "all") {
      stages = known;
    } else if (known.contains(name)) {
      stages.insert(name);
    } else {
      throw Error(ErrorKind::usage, "stages",
                  "--stages " + name +
                      ": this tower has no such stage; stages are normalized, patch_embed, "
                      "pos_embed (qwen3_vl), block_input, block.I.attn, block.I.mlp, block.I, "
                      "merger, deepstack.J, or all");
    }
  }
  // These are in every output under their own names.
  std::erase_if(stages, [](const std::string& name) { return name.starts_with("deepstack."); });
  return stages;
}

struct Outcome {
  std::vector<const EncodedItem*> encoded;
  std::vector<ItemFailure> failed;
};

Outcome split(const std::vector<ItemResult>& results) {
  Outcome outcome;
  for (const ItemResult& result : results) {
    if (const auto* item = std::get_if<EncodedItem>(&result)) {
      outcome.encoded.push_back(item);
    } else {
      outcome.failed.push_back(std::get<ItemFailure>(result));
    }
  }
  return outcome;
}

Json items_json(const Outcome& outcome, Mode mode, std::int64_t merge_size) {
  Json items = Json::array();
  for (const EncodedItem* item : outcome.encoded) {
    const GridThw& grid = item->embeddings.grid;
    Json entry = item_json(item->record);
    if (mode == Mode::oracle && grid.patches() > oracle::OracleOptions().largest_float64_item) {
      entry["notes"].push_back("computed in float32: too many patches for float64");
    }
    entry["grid_thw"] = {grid.t, grid.h, grid.w};
    entry["tokens"] = grid.tokens(merge_size);
    entry["rank"] = 0;
    items.push_back(std::move(entry));
  }
  return items;
}

std::string summary(const Outcome& outcome, const std::string& path) {
  std::int64_t tokens = 0;
  for (const EncodedItem* item : outcome.encoded) tokens += item->embeddings.embeddings.size(0);
  const ItemEmbeddings& first = outcome.encoded.front()->embeddings;
  std::string text = path + ": " + std::to_string(outcome.encoded.size()) + " items, " +
                     std::to_string(tokens) + " tokens of width " +
                     std::to_string(first.embeddings.size(1));
  if (!first.deepstack.empty()) {
    text += " and " + std::to_string(first.deepstack.size()) + " deepstack levels";
  }
  return text;
}

}  // namespace

ExitCode EncodeCommand::operator()(const Terminal& terminal) const {
  const Checkpoint checkpoint = Checkpoint::open(run.checkpoint);
  const int threads = run.apply_threads();
  ModeRun mode(run, checkpoint, threads);
  const PixelSpec spec = media.apply_to(checkpoint.preprocessor().pixels);
  const FileSource source(media.paths(), spec, media.options, threads);

  EncodeOptions options;
  options.max_batch_rows = mode.max_batch_rows();
  options.decode_threads = threads;
  options.capture = run.capture_all ? Capture::ahead : Capture::lazy;
  options.stages = stages_of(checkpoint.vision(), stages);
  ProgressLine progress(terminal, "items");
  options.on_progress = [&](const Progress& now) { progress.update(now.items_done, now.items); };

  const EncodeResult result = encode_items(source, mode.runner(), options);
  const Outcome outcome = split(result.items);

  Json record{{"version", versions_json()},
              {"checkpoint", checkpoint_json(checkpoint)},
              {"norm", norm_json(checkpoint.preprocessor())},
              {"profile", profile_json(media)},
              {"plan", plan_json(result.plan)},
              {"attestation", mode.attestation()},
              {"ledger", ledger_json(mode.ledger())},
              {"items", items_json(outcome, run.mode, spec.layout.merge_size)},
              {"failed", to_json(outcome.failed)}};
  if (!outcome.encoded.empty()) {
    write_embeddings(output, outcome.encoded, file_metadata(record));
    terminal.say(summary(outcome, output));
  }
  std::vector<ExitCode> codes{ExitCode::ok};
  for (const ItemFailure& failure : outcome.failed) {
    terminal.complain(failure.path + ": " + failure.message);
    codes.push_back(exit_code_of(failure.kind));
  }
  const ExitCode code = worst(codes);
  terminal.report({{"output", outcome.encoded.empty() ? Json() : Json(output)},
                   {"items", outcome.encoded.size()},
                   {"failed", record["failed"]},
                   {"exit_code", static_cast<int>(code)}});
  return code;
}

}  // namespace vtower::cli
