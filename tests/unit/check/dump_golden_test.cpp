// Dumps that other programs really wrote.
#include <algorithm>
#include <cmath>
#include <set>

#include "dump_files.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;
using namespace vtower::test;

namespace {

std::string tensor_bytes(const std::filesystem::path& path, const std::string& name) {
  const SafetensorsFile file(path, ErrorKind::unreadable);
  const TensorView& view = *file.find(name);
  return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
}

std::vector<std::filesystem::path> files_under(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

double largest_difference(const TokenRows& a, const TokenRows& b) {
  const std::vector<float> x = values(a);
  const std::vector<float> y = values(b);
  REQUIRE(x.size() == y.size());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(double{x[i]} - double{y[i]}));
  }
  return largest;
}

std::int64_t rows_of(const Dump& dump) {
  std::int64_t rows = 0;
  for (const DumpItem& item : dump.items()) rows += item.embeddings.rows;
  return rows;
}

void check_index(const std::string& folder, std::size_t at_least) {
  const nlohmann::json index = golden_json(folder + "/index.json");
  const nlohmann::json& dumps = index.at("dumps");
  REQUIRE(dumps.size() >= at_least);
  for (const auto& [name, facts] : dumps.items()) {
    CAPTURE(name);
    const std::filesystem::path path = golden(folder) / name;
    const Dump dump = Dump::open(path, {});
    const std::size_t items = facts.at("case") == "batch" ? 3 : 1;
    REQUIRE(dump.items().size() == items);
    CHECK(rows_of(dump) == facts.at("shape").at(0).get<std::int64_t>());
    CHECK(dump.items().front().embeddings.width == facts.at("shape").at(1).get<std::int64_t>());
    CHECK(dump.dtype() == (facts.at("dtype") == "bf16" ? DType::bf16 : DType::f32));
    CHECK(dump.stage() == "embeddings");
    CHECK(dump.record().is_null());
    CHECK_FALSE(dump.has_keys());
    REQUIRE(dump.notes().size() == 1);
    CHECK(notes_say(dump, "no vtower record: embeddings is taken as final embeddings"));
    std::string all;
    for (std::size_t i = 0; i < items; ++i) {
      const DumpItem& item = dump.items()[i];
      CHECK(item.key == "#" + std::to_string(i));
      REQUIRE(item.grid);
      CHECK(item.grid->tokens(2) == item.embeddings.rows);
      all += bytes_of(item.embeddings);
    }
    CHECK(all == tensor_bytes(path, "embeddings"));
  }
}

}  // namespace

TEST_CASE("every dump of vLLM's towers opens as what its index says") {
  check_index("vllm_dumps", 90);
  check_index("vllm_gpu", 50);
}

TEST_CASE("rows that join embeddings and deepstack are split as the tower made them") {
  const Dump joined = Dump::open(
      golden("vllm_dumps/qwen3_vl/batch.vllm-0.33.0.fp32.embed.safetensors"), {"", "", 2, 48, 3});
  const Dump apart =
      Dump::open(golden("towers/cases/qwen3_vl/batch.qwen3_vl-tiny-fp32.fp32.safetensors"),
                 {"", "", 2, 48, 3});
  REQUIRE(joined.items().size() == 3);
  REQUIRE(apart.items().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const DumpItem& a = joined.items()[i];
    const DumpItem& b = apart.items()[i];
    REQUIRE(a.deepstack.size() == 3);
    REQUIRE(b.deepstack.size() == 3);
    CHECK(a.embeddings.width == 48);
    CHECK_FALSE(a.embeddings.is_contiguous());
    CHECK(b.embeddings.is_contiguous());
    CHECK(largest_difference(a.embeddings, b.embeddings) < 1e-4);
    for (std::size_t level = 0; level < 3; ++level) {
      CHECK(largest_difference(a.deepstack[level], b.deepstack[level]) < 1e-4);
      CHECK(largest_difference(a.deepstack[level], b.deepstack[(level + 1) % 3]) > 1e-2);
    }
  }
}

TEST_CASE("folders of an encoder-cache connector are one dump, keyed by hash") {
  const nlohmann::json index = golden_json("vllm_dumps/index.json");
  for (const char* storage : {"vllm-0.29.0.fp32.embed", "vllm-0.29.0.fp32.graph"}) {
    CAPTURE(storage);
    const Dump dump = Dump::open(golden("vllm_dumps/ec") / storage, {});
    const nlohmann::json& hashes = index.at("ec").at(storage);
    CHECK(dump.has_keys());
    CHECK(dump.items().size() == hashes.size());
    CHECK(notes_say(dump, "ec_cache is taken as final embeddings"));
    CHECK_FALSE(notes_say(dump, "one item"));
    int compared = 0;
    for (const auto& [hash, origin] : hashes.items()) {
      const DumpItem* item = dump.find(hash);
      REQUIRE(item != nullptr);
      const std::string text = origin.get<std::string>();  // "qwen2_vl/batch[1]"
      const std::string release = std::string(storage).substr(5);
      const std::filesystem::path twin = golden("vllm_dumps/" + text.substr(0, text.find('[')) +
                                                ".vllm-" + release + ".safetensors");
      if (!std::filesystem::exists(twin)) continue;
      const Dump whole = Dump::open(twin, {});
      const auto place = static_cast<std::size_t>(text[text.find('[') + 1] - '0');
      CHECK(bytes_of(item->embeddings) == bytes_of(whole.items().at(place).embeddings));
      ++compared;
    }
    CHECK(compared >= 8);
    CHECK(dump.find("no-such-hash") == nullptr);
  }
}

TEST_CASE("towers of different widths in one connector folder are said, not refused") {
  const Dump dump = Dump::open(golden("vllm_dumps/ec/vllm-0.29.0.fp32.embed"), {"", "", 2, 48, 3});
  CHECK(notes_say(dump, "no deepstack levels"));
  const auto split = std::count_if(dump.items().begin(), dump.items().end(), [](const auto& item) {
    return item.deepstack.size() == 3 && item.embeddings.width == 48;
  });
  CHECK(split == 6);
}

TEST_CASE("every planted twin opens") {
  const nlohmann::json index = golden_json("twins/index.json");
  int opened = 0;
  for (const auto& [name, twin] : index.at("twins").items()) {
    const bool deep = name.starts_with("qwen3_vl/");
    for (const auto& [fault, facts] : twin.at("faults").items()) {
      if (!facts.contains("file")) continue;  // it cannot show there
      const std::string file = facts.at("file").get<std::string>();
      CAPTURE(file);
      const Dump dump = Dump::open(golden("twins") / file, {});
      CHECK(dump.items().size() == twin.at("grid_thw").size());
      CHECK(dump.stage() == "embeddings");
      for (const DumpItem& item : dump.items()) {
        CHECK(item.deepstack.size() == (deep ? 3 : 0));
        CHECK(item.embeddings.width == 48);
      }
      CHECK(notes_say(dump, "merger is taken as final embeddings"));
      ++opened;
    }
  }
  CHECK(opened == std::ssize(files_under(golden("twins"))));
}

TEST_CASE("stages of a reference are read in rows of patches") {
  const std::filesystem::path path =
      golden("towers/cases/qwen2_5_vl/batch.qwen2_5_vl-tiny-fp32.fp32.safetensors");
  for (const char* stage : {"block.3", "block_input", "patch_embed"}) {
    CAPTURE(stage);
    const Dump dump = Dump::open(path, {"", stage});
    CHECK(dump.stage() == stage);
    REQUIRE(dump.items().size() == 3);
    std::string all;
    for (const DumpItem& item : dump.items()) {
      CHECK(item.embeddings.rows == item.grid->patches());
      CHECK(item.embeddings.width == 64);
      all += bytes_of(item.embeddings);
    }
    CHECK(all == tensor_bytes(path, stage));
  }
  CHECK(Dump::open(path, {"block.2", ""}).stage() == "block.2");
  CHECK(outcome(path, {"", "block.9"}).starts_with("not_comparable: "));
  CHECK(says(outcome(path, {"", "block.9"}), "block.3 F32 [180, 64]"));
}

TEST_CASE("no dump of the reference data looks byte-swapped") {
  for (const std::filesystem::path& path : files_under(golden("towers/cases"))) {
    if (path.filename().string().find(".input.") != std::string::npos) continue;
    if (path.filename().string().starts_with("normalization_table")) continue;
    CAPTURE(path);
    const Dump dump = Dump::open(path, {});
    CHECK_FALSE(notes_say(dump, "order"));
    CHECK_FALSE(notes_say(dump, "denormal"));
  }
}
