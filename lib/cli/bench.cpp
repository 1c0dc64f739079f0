#include "cli/bench.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "checkpoint/synth.h"
#include "cli/bench_device.h"
#include "cli/bench_packing.h"
#include "cli/bench_preprocess.h"
#include "cli/bench_tower.h"
#include "cli/record.h"
#include "cli/run_arguments.h"

namespace vtower::cli {
namespace {

// A random-weight checkpoint that lives as long as the run.
class TemporaryCheckpoint {
 public:
  TemporaryCheckpoint(const std::string& shape, std::int64_t blocks, DType dtype)
      : folder_(std::filesystem::temp_directory_path() /
                ("vtower-bench-" + std::to_string(std::hash<const void*>{}(this)))) {
    SynthOptions options;
    options.shape = shape;
    options.dtype = dtype;
    if (blocks > 0) options.blocks = blocks;
    write_synthetic_checkpoint(options, folder_);
  }
  ~TemporaryCheckpoint() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryCheckpoint(const TemporaryCheckpoint&) = delete;
  TemporaryCheckpoint& operator=(const TemporaryCheckpoint&) = delete;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

DType dtype_of(const std::string& name) {
  return name == "fp32" ? DType::f32 : name == "bf16" ? DType::bf16 : DType::f16;
}

void say_row(const Json& row, const Terminal& terminal) {
  char text[200];
  if (row["axis"] == "preprocess") {
    const std::string what = row["input"].get<std::string>().substr(0, 24) + " -> " +
                             std::to_string(row["resized"][1].get<int>()) + " x " +
                             std::to_string(row["resized"][0].get<int>());
    const int length = std::snprintf(text, sizeof(text), "%-10s %-38s %8.2f ms", "preprocess",
                                     what.c_str(), row["seconds"].get<double>() * 1e3);
    if (row.contains("ratio")) {
      std::snprintf(text + length, sizeof(text) - static_cast<std::size_t>(length),
                    "   bare decode %8.2f ms   %.2f x", row["ceiling_seconds"].get<double>() * 1e3,
                    row["ratio"].get<double>());
    }
  } else if (row["axis"] == "packing") {
    const auto share = [&](const char* set, const char* side) {
      return row[set][side]["useful_share"].get<double>();
    };
    std::snprintf(text, sizeof(text),
                  "%-10s %-38s packed %.3f (reference %.3f), singles %.3f (reference %.3f) useful",
                  "packing", "512 pictures, 224 to 1500 px", share("packed", "ours"),
                  share("packed", "reference"), share("singles", "ours"),
                  share("singles", "reference"));
  } else if (row["axis"] == "ceiling") {
    std::snprintf(
        text, sizeof(text), "%-10s %-38s %8.0f TFLOP/s, copies %.0f GB/s, uploads %.1f GB/s",
        "ceiling", row["dtype"].get<std::string>().c_str(), row["product_tflops"].get<double>(),
        row["copy_gb_per_second"].get<double>(), row["upload_gb_per_second"].get<double>());
  } else if (row.contains("mode")) {
    const std::string what = row["mode"].get<std::string>() + " " +
                             row["dtype"].get<std::string>() + ", " +
                             std::to_string(row["patches"].get<int>()) + " patches";
    std::snprintf(text, sizeof(text),
                  "%-10s %-38s %8.2f ms   device busy %.2f   %.2f of the ceiling", "tower",
                  what.c_str(), row["seconds"].get<double>() * 1e3,
                  row["device_busy_share"].get<double>(), row["ratio"].get<double>());
  } else {
    const std::string what = row["dtype"].get<std::string>() + " " +
                             std::to_string(row["side_px"].get<int>()) + " px, " +
                             std::to_string(row["patches"].get<int>()) + " patches";
    std::snprintf(text, sizeof(text),
                  "%-10s %-38s %8.1f ms   %6.1f of %6.1f GFLOP/s   %.2f of the ceiling", "tower",
                  what.c_str(), row["seconds"].get<double>() * 1e3, row["gflops"].get<double>(),
                  row["ceiling_gflops"].get<double>(), row["ratio"].get<double>());
  }
  terminal.say(text);
}

}  // namespace

ExitCode BenchCommand::operator()(const Terminal& terminal) const {
  const int count = thread_count(threads);
  at::set_num_threads(count);
  const auto wants = [&](const char* axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  Json rows = Json::array();
  const auto add = [&](Json row) {
    say_row(row, terminal);
    rows.push_back(std::move(row));
  };
  if (!inputs.empty() && checkpoint.empty()) {
    throw Error(ErrorKind::usage, "bench",
                "--inputs needs CHECKPOINT, whose limits they are under");
  }
  if (wants("preprocess") && inputs.empty()) add(bench_preprocess(repeats));
  if (wants("preprocess") && !inputs.empty()) {
    const PixelSpec spec = Checkpoint::open(checkpoint).preprocessor().pixels;
    for (const std::string& input : inputs) {
      add(bench_preprocess(input, spec, MediaOptions{}, repeats));
    }
  }
  if (wants("packing")) add(bench_packing());
  std::vector<std::pair<std::shared_ptr<const VisionTower>, Json>> timed;  // on a GPU
  for (const std::string& dtype : dtypes) {
    if (!wants("tower")) break;
    std::optional<TemporaryCheckpoint> random;
    if (checkpoint.empty()) random.emplace(shape, blocks, dtype_of(dtype));
    const Checkpoint opened =
        Checkpoint::open(random ? random->folder() : std::filesystem::path(checkpoint));
    const Placement placement{dtype_of(dtype), device_of(device)};
    const auto tower = std::make_shared<const VisionTower>(VisionTower::load(opened, placement));
    if (placement.device.is_cpu()) {
      for (const std::int64_t side : sides) add(bench_tower(*tower, side, repeats));
      continue;
    }
    const DeviceCeiling ceiling = device_ceiling(placement);
    add({{"axis", "ceiling"},
         {"dtype", dtype},
         {"product_tflops", ceiling.product_tflops},
         {"copy_gb_per_second", ceiling.copy_gb_per_second},
         {"upload_gb_per_second", ceiling.upload_gb_per_second}});
    for (const std::int64_t side : sides) {
      for (Json& row : bench_device_tower(*tower, side, repeats, ceiling)) {
        timed.emplace_back(tower, std::move(row));
      }
    }
  }
  for (auto& [tower, row] : timed) {
    add_device_work(*tower, row);
    add(std::move(row));
  }
  terminal.report({{"version", versions_json()},
                   {"threads", count},
                   {"cpu_capability", cpu_capability()},
                   {"shape", checkpoint.empty() ? shape : checkpoint},
                   {"rows", std::move(rows)}});
  return ExitCode::ok;
}

}  // namespace vtower::cli
