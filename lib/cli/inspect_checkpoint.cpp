#include "cli/inspect_checkpoint.h"

#include <cstdio>

#include "tower/input_norm.h"

namespace vtower::cli {
namespace {

std::string row(const std::string& name, const std::string& text) {
  return "  " + name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.8g", value);
  return text;
}

std::string triple(const std::array<double, 3>& values) {
  return "[" + number(values[0]) + ", " + number(values[1]) + ", " + number(values[2]) + "]";
}

// "0-6 windows, 7 frame, 8-14 windows": the kind of attention of every block.
std::string attention_kinds(const VisionConfig& config) {
  std::string text;
  for (std::int64_t first = 0; first < config.depth;) {
    std::int64_t last = first;
    const auto full = [&](std::int64_t block) {
      return config.family != Family::qwen2_5_vl || config.is_full_attention(block);
    };
    while (last + 1 < config.depth && full(last + 1) == full(first)) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first) +
            (last > first ? "-" + std::to_string(last) : "") +
            (full(first) ? " frame" : " windows");
    first = last + 1;
  }
  return text;
}

std::string limits(const PixelLimits& limits) {
  return std::to_string(limits.min_pixels) + ".." + std::to_string(limits.max_pixels);
}

Json ranges(const InputNorm& norm) {
  Json list = Json::array();
  for (const auto& channel : norm.table()) list.push_back({channel.front(), channel.back()});
  return list;
}

void print_tower(const VisionConfig& config, const Terminal& terminal) {
  terminal.say(row("tower", std::to_string(config.depth) + " blocks of width " +
                                std::to_string(config.width) + ", " + std::to_string(config.heads) +
                                " heads of " + std::to_string(config.head_dim()) + ", MLP " +
                                std::to_string(config.mlp_width) + " " +
                                std::string(to_string(config.hidden_act)) + ", tokens of width " +
                                std::to_string(config.out_width)));
  terminal.say(row("attention", "blocks " + attention_kinds(config)));
  if (config.family == Family::qwen2_5_vl) {
    terminal.say(row("windows", std::to_string(config.window_size) + " px, " +
                                    std::to_string(config.window_tokens()) + "x" +
                                    std::to_string(config.window_tokens()) + " tokens"));
  }
  if (config.family == Family::qwen3_vl) {
    std::string blocks;
    for (const std::int64_t block : config.deepstack_blocks) {
      blocks += (blocks.empty() ? "" : ", ") + std::to_string(block);
    }
    terminal.say(row("deepstack", blocks.empty() ? "none" : "after blocks " + blocks));
    terminal.say(row("positions", "table of side " + std::to_string(config.position_table_side)));
  }
  const PatchLayout& layout = config.layout;
  terminal.say(row("patches", std::to_string(layout.patch_size) + "x" +
                                  std::to_string(layout.patch_size) + " px, " +
                                  std::to_string(layout.temporal_patch_size) + " frames, rows of " +
                                  std::to_string(layout.row_width()) + " values; a token is " +
                                  std::to_string(layout.merge_size) + "x" +
                                  std::to_string(layout.merge_size) + " patches"));
}

void print_norm(const PreprocessorConfig& preprocessor, const InputNorm& norm,
                const Terminal& terminal) {
  terminal.say(row("norm", "mean " + triple(preprocessor.norm.mean()) + ", std " +
                               triple(preprocessor.norm.std()) + ", rescale 1/" +
                               number(1.0 / preprocessor.norm.rescale_factor())));
  std::string text = "bytes 0..255 become";
  for (const auto& channel : norm.table()) {
    text += " [" + number(channel.front()) + ", " + number(channel.back()) + "]";
  }
  terminal.say(row("", text));
  terminal.say(row(
      "limits", "pictures " + limits(preprocessor.pixels.image_limits) + " px, clips " +
                    limits(preprocessor.pixels.video_limits) +
                    (preprocessor.pixels.video_rule == VideoRule::qwen3 ? " px in all their frames"
                                                                        : " px a frame")));
}

void print_origins(const std::vector<ValueOrigin>& origins, const Terminal& terminal) {
  for (const ValueOrigin& entry : origins) {
    terminal.say("    " + entry.name + " = " + entry.value + "   (" + entry.origin + ")");
  }
}

}  // namespace

Json inspect_checkpoint(const Checkpoint& checkpoint, const Terminal& terminal) {
  const VisionConfig& config = checkpoint.vision();
  const PreprocessorConfig& preprocessor = checkpoint.preprocessor();
  const InputNorm norm(preprocessor.norm, Placement{});
  Json weights = checkpoint_json(checkpoint);
  const std::string dtype(to_string(checkpoint.weights().main_dtype()));

  terminal.say("checkpoint " + checkpoint.folder().string());
  terminal.say(row("family", std::string(to_string(config.family)) + ", prefix " +
                                 checkpoint.prefix() + ", " +
                                 std::to_string(weights["tensors"].get<std::size_t>()) +
                                 " vision tensors, " + dtype));
  terminal.say(row("hash", weights["hash"].get<std::string>()));
  print_tower(config, terminal);
  print_norm(preprocessor, norm, terminal);
  terminal.say(row("origins", ""));
  print_origins(config.origins, terminal);
  print_origins(preprocessor.origins, terminal);
  for (const std::string& note : preprocessor.notes) terminal.say(row("note", note));
  for (const std::string& note : checkpoint.notes()) terminal.say(row("note", note));

  weights["dtype"] = dtype;
  return {
      {"kind", "checkpoint"},
      {"path", checkpoint.folder().string()},
      {"checkpoint", std::move(weights)},
      {"tower", origins_json(config.origins)},
      {"attention", attention_kinds(config)},
      {"norm", norm_json(preprocessor)},
      {"normalised_range", ranges(norm)},
      {"image_limits",
       {preprocessor.pixels.image_limits.min_pixels, preprocessor.pixels.image_limits.max_pixels}},
      {"video_limits",
       {preprocessor.pixels.video_limits.min_pixels, preprocessor.pixels.video_limits.max_pixels}}};
}

}  // namespace vtower::cli
