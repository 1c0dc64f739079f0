#include "cli/encode_output.h"

#include "cli/embeddings_file.h"
#include "oracle/oracle.h"
#include "tower/ledger.h"

namespace vtower::cli {
namespace {

struct Outcome {
  std::vector<const EncodedItem*> encoded;
  std::vector<int> ranks;  // of the encoded
  std::vector<ItemFailure> failed;
};

Outcome split(const EncodeOutput& output) {
  Outcome outcome;
  for (std::size_t i = 0; i < output.items.size(); ++i) {
    if (const auto* item = std::get_if<EncodedItem>(&output.items[i])) {
      outcome.encoded.push_back(item);
      outcome.ranks.push_back(output.ranks.empty() ? 0 : output.ranks[i].value_or(0));
    } else {
      outcome.failed.push_back(std::get<ItemFailure>(output.items[i]));
    }
  }
  return outcome;
}

Json items_json(const Outcome& outcome, Mode mode, std::int64_t merge_size) {
  Json items = Json::array();
  for (std::size_t i = 0; i < outcome.encoded.size(); ++i) {
    const EncodedItem* item = outcome.encoded[i];
    const GridThw& grid = item->embeddings.grid;
    Json entry = item_json(item->record);
    if (mode == Mode::oracle && grid.patches() > oracle::OracleOptions().largest_float64_item) {
      entry["notes"].push_back("computed in float32: too many patches for float64");
    }
    entry["grid_thw"] = {grid.t, grid.h, grid.w};
    entry["tokens"] = grid.tokens(merge_size);
    entry["rank"] = outcome.ranks[i];
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

ExitCode write_output(const EncodeCommand& command, const Terminal& terminal,
                      const EncodeOutput& run) {
  const Outcome outcome = split(run);

  Json record{{"version", versions_json()},
              {"checkpoint", run.checkpoint},
              {"norm", run.norm},
              {"profile", profile_json(command.media)},
              {"plan", run.plan},
              {"attestation", run.attestation},
              {"ledger", run.ledger},
              {"items", items_json(outcome, command.run.mode, run.merge_size)},
              {"failed", to_json(outcome.failed)}};
  if (!outcome.encoded.empty()) {
    write_embeddings(command.output, outcome.encoded, file_metadata(record));
    terminal.say(summary(outcome, command.output));
  }
  std::vector<ExitCode> codes{ExitCode::ok};
  for (const ItemFailure& failure : outcome.failed) {
    terminal.complain(failure.path + ": " + failure.message);
    codes.push_back(exit_code_of(failure.kind));
  }
  for (const auto& [kind, message] : run.trouble) {
    terminal.complain(message);
    codes.push_back(exit_code_of(kind));
  }
  const ExitCode code = worst(codes);
  terminal.report({{"output", outcome.encoded.empty() ? Json() : Json(command.output)},
                   {"items", outcome.encoded.size()},
                   {"failed", record["failed"]},
                   {"exit_code", static_cast<int>(code)}});
  return code;
}

}  // namespace vtower::cli
