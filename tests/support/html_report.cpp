#include "support/html_report.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/raw_patches.h"

namespace vtower::test {
namespace {

constexpr PatchLayout layout{.patch_size = 14, .temporal_patch_size = 2, .merge_size = 2};

// A coloured slope with a bright disc: something to recognise on a page.
Frame slope(ImageSize size, double shift) {
  Frame frame(size);
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      const double across = static_cast<double>(x) / static_cast<double>(size.width);
      const double down = static_cast<double>(y) / static_cast<double>(size.height);
      const bool disc = std::hypot(across - 0.3 - shift, down - 0.4) < 0.18;
      std::uint8_t* pixel = frame.row(y) + 3 * x;
      pixel[0] = disc ? 250 : static_cast<std::uint8_t>(40 + 120 * across);
      pixel[1] = disc ? 220 : static_cast<std::uint8_t>(60 + 120 * down);
      pixel[2] = disc ? 90 : static_cast<std::uint8_t>(150 - 90 * across);
    }
  }
  return frame;
}

}  // namespace

ItemReport html_entry(const std::string& name, const GridThw& tokens, double worst) {
  ItemReport entry;
  entry.item = name;
  entry.grid = GridThw{tokens.t, 2 * tokens.h, 2 * tokens.w};
  entry.limit = 3e-6;
  entry.floor = 1e-6;
  ItemComparison& found = entry.comparison;
  found.tokens = tokens.patches();
  for (std::int64_t i = 0; i < found.tokens; ++i) {
    const double part = static_cast<double>(i + 1) / static_cast<double>(found.tokens);
    found.errors.push_back(
        static_cast<float>(entry.limit * std::pow(10, -3 + part * (3 + std::log10(worst)))));
  }
  found.worst_token = found.tokens - 1;
  found.worst_error = worst * entry.limit;
  found.quantiles = {found.worst_error / 100, found.worst_error / 3, found.worst_error / 1.1};
  found.smallest_cosine = 0.987;
  found.smallest_norm_ratio = 0.93;
  found.largest_norm_ratio = 1.21;
  return entry;
}

Report full_report() {
  Report report;
  report.command = "check";
  report.verdict = Verdict::differ;
  report.exit_code = 3;
  report.cause = Cause{.id = "norm_skipped",
                       .also = {"rescale_skipped"},
                       .sentence =
                           "the tower was fed raw bytes 0..255: <b>the normalisation</b> "
                           "was skipped",
                       .side = "graph, later replay",
                       .residual = 1.1e-6,
                       .limit = 3.2e-6,
                       .runner_up = RunnerUp{"norm_twice", 0.42}};
  report.algebra = {"b is a scaled by 1.86"};
  report.worst = Worst{.pair = "graph, later replay against oracle",
                       .item = nasty_name,
                       .tensor = "embeddings",
                       .token = 209,
                       .box_px = std::vector<std::int64_t>{392, 364, 420, 392},
                       .frames = std::nullopt,
                       .value = 2.4e-4,
                       .limit = 3e-6,
                       .pattern = "the last 12 tokens"};
  PairReport sound;
  sound.a = "eager";
  sound.b = "oracle";
  sound.items.push_back(html_entry("clip.mp4", {6, 8, 12}, 0.35));
  sound.items.push_back(html_entry(nasty_name, {1, 14, 15}, 0.6));
  sound.smallest_k = 1.8;
  sound.identical = true;
  PairReport faulty;
  faulty.a = "graph, later replay";
  faulty.b = "oracle";
  faulty.verdict = Verdict::differ;
  faulty.items.push_back(html_entry(nasty_name, {1, 14, 15}, 80));
  faulty.items.push_back(html_entry("clip.mp4", {6, 8, 12}, 4));
  ItemReport broken = html_entry("broken.png", {1, 6, 9}, 2);
  broken.comparison.errors[7] = std::numeric_limits<float>::quiet_NaN();
  broken.comparison.worst_error = std::numeric_limits<double>::quiet_NaN();
  broken.comparison.non_finite_a = 64;
  faulty.items.push_back(broken);
  ItemReport foreign = html_entry("no grid", {1, 1, 150}, 1.5);
  foreign.grid.reset();
  foreign.tensor = "deepstack.1";
  faulty.items.push_back(foreign);
  faulty.notes = {"its ledger has other stages than that of eager"};
  faulty.skipped.push_back({"lost.png", "", Verdict::not_comparable, "graph does not have it"});
  faulty.smallest_k = std::numeric_limits<double>::infinity();
  report.pairs = {std::move(sound), std::move(faulty)};
  report.policy = {{"k", 3}, {"limits", {{"fp32", 1e-5}}}, {"exact", false}};
  report.ledger["eager"] = {
      {"passes", 2},
      {"norm", {{"input_dtype", "uint8"}, {"observed", {{-1.7, 1.9}, {-1.7, 2.0}, {-1.4, 2.1}}}}},
      {"stages", nlohmann::ordered_json::array(
                     {{{"stage", "normalized"}, {"dtype", "f32"}, {"shape", {840, 1176}}},
                      {{"stage", "merger"}, {"dtype", "f32"}, {"shape", {210, 64}}}})}};
  report.plan["eager"] = {{"max_batch_rows", 16384}, {"batches", {{0, 1}, {2}}}};
  report.attestation["eager"] = {{"mode", "eager"}, {"device", "cpu"}, {"captured", false}};
  report.notes = {"profile vllm on both sides", "raw rows: merge order was assumed"};
  report.not_run = {"graph@cuda: there is no GPU"};
  report.failed = nlohmann::ordered_json::array(
      {{{"path", "torn.jpg"}, {"class", "truncated"}, {"message", "ends after 3 of 8 blocks"}}});
  report.next_steps = {"Look at the call that feeds the captured graph: it takes bytes.",
                       "vtower selftest shows what this check can see"};
  return report;
}

cli::PictureSource picture_source() {
  cli::PictureSource source;
  source.pixels = [](const ItemReport& item) -> std::optional<RawPatches> {
    if (!item.grid || item.item == "broken.png") return std::nullopt;
    std::vector<Frame> frames;
    for (std::int64_t t = 0; t < item.grid->t; ++t) {
      for (int copy = 0; copy < 2; ++copy) {
        frames.push_back(
            slope({item.grid->h * 14, item.grid->w * 14}, 0.05 * static_cast<double>(t)));
      }
    }
    return RawPatches::gather(frames, layout);
  };
  source.tokens = [](std::size_t, const ItemReport& item) {
    const std::int64_t tokens = item.comparison.tokens;
    const at::Tensor place = at::arange(tokens * 16, at::kDouble).reshape({tokens, 16});
    at::Tensor a = place.mul(0.011).sin().add(place.mul(0.0007).cos());
    at::Tensor b = a.clone();
    a.narrow(0, tokens - 12, 12).mul_(-2);
    return std::optional(cli::PictureSource::Sides{a, b});
  };
  return source;
}

cli::HtmlPictures full_pictures(const Report& report) {
  cli::HtmlDepth depth{nasty_name, "the tower with norm_skipped in it", {}, 3};
  depth.stages.push_back({"normalized", 0, 0});
  double floor = 2e-7;
  for (int block = 0; block < 8; ++block) {
    floor *= 1.3;
    depth.stages.push_back(
        {"block." + std::to_string(block), block < 4 ? 1.5 * floor : 4e-3, floor});
  }
  depth.stages.push_back({"merger", std::numeric_limits<double>::quiet_NaN(), floor});
  return {cli::html_items(report, picture_source()), depth};
}

}  // namespace vtower::test
