// Which tensors are taken for what, where items end, what contradicts.
#include <set>

#include "dump_files.h"
#include "support/doctest.h"
#include "support/golden.h"

using namespace vtower;
using namespace vtower::test;

namespace {

std::vector<std::int64_t> rows_of_items(const Dump& dump) {
  std::vector<std::int64_t> rows;
  for (const DumpItem& item : dump.items()) rows.push_back(item.embeddings.rows);
  return rows;
}

std::set<std::string> keys_of(const Dump& dump) {
  std::set<std::string> keys;
  for (const DumpItem& item : dump.items()) keys.insert(item.key);
  return keys;
}

using Rows = std::vector<std::int64_t>;

nlohmann::json record_item(const std::string& path, Rows grid = {}, std::int64_t tokens = 0) {
  nlohmann::json item{{"path", path}, {"sha256", std::string(64, 'a')}};
  if (!grid.empty()) item["grid_thw"] = grid;
  if (tokens > 0) item["tokens"] = tokens;
  return item;
}

std::string record(std::vector<nlohmann::json> items) {
  return nlohmann::json{{"items", std::move(items)}, {"failed", nlohmann::json::array()}}.dump();
}

}  // namespace

TEST_CASE("the first known name is taken, and last_hidden_state is not one") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  DumpFile file;
  file.rows("image_embeds", {4, 3}, 400);
  CHECK(values(Dump::open(file.write(path), {}).items()[0].embeddings)[0] == 400);
  file.rows("pooler_output", {4, 3}, 300);
  CHECK(values(Dump::open(file.write(path), {}).items()[0].embeddings)[0] == 300);
  file.rows("merger", {4, 3}, 200);
  CHECK(values(Dump::open(file.write(path), {}).items()[0].embeddings)[0] == 200);
  file.rows("embeddings", {4, 3}, 100);
  CHECK(values(Dump::open(file.write(path), {}).items()[0].embeddings)[0] == 100);
  CHECK(values(Dump::open(path, {"merger", ""}).items()[0].embeddings)[0] == 200);

  DumpFile hidden;
  hidden.rows("last_hidden_state", {4, 3}, 7).write(path);
  CHECK(outcome(path).starts_with("not_comparable: "));
  CHECK(says(outcome(path), "before the merger"));
  const Dump named = Dump::open(path, {"last_hidden_state", "before the merger"});
  CHECK(named.stage() == "before the merger");
  CHECK(values(named.items()[0].embeddings)[0] == 7);

  CHECK(says(outcome(DumpFile().rows("pixel_values", {4, 3}).write(path)), "Are these pixels"));
  CHECK(says(outcome(path, {"absent", ""}), "has no tensor absent"));
  CHECK(says(outcome(path, {"absent", ""}), "pixel_values F32 [4, 3]"));
}

TEST_CASE("a batch side of 1 is no side; other shapes and types are refused") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  const Dump dump = Dump::open(DumpFile().rows("embeddings", {1, 4, 3}).write(path), {});
  CHECK(dump.items()[0].embeddings.rows == 4);
  CHECK(dump.items()[0].embeddings.width == 3);
  for (const Rows& shape : {Rows{2, 4, 3}, Rows{12}, Rows{}, Rows{1, 1, 4, 3}, Rows{4, 0}}) {
    CHECK(outcome(DumpFile().rows("embeddings", shape).write(path)).starts_with("unsupported: "));
  }
  for (const DType type : {DType::u8, DType::i64, DType::i32, DType::boolean}) {
    const std::vector<std::uint8_t> zeros(12 * size_of(type), 0);
    DumpFile().bytes("embeddings", type, {4, 3}, zeros).write(path);
    CHECK(outcome(path).starts_with("unsupported: "));
    CHECK(says(outcome(path), "expected F16, BF16, F32 or F64"));
  }
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const std::vector<std::uint8_t> zeros(12 * size_of(type), 0);
    DumpFile().bytes("embeddings", type, {4, 3}, zeros).write(path);
    CHECK(Dump::open(path, {}).dtype() == type);
  }
}

TEST_CASE("items end where cu_tokens, cu_seqlens_tokens or grid_thw say") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  const auto items = [&](DumpFile file, const DumpOptions& options = {}) {
    return rows_of_items(Dump::open(file.rows("embeddings", {6, 3}).write(path), options));
  };
  CHECK(items(DumpFile()) == Rows{6});
  CHECK(notes_say(Dump::open(path, {}), "taken as one item"));
  CHECK(items(DumpFile().cu({0, 2, 6})) == Rows{2, 4});
  CHECK_FALSE(notes_say(Dump::open(path, {}), "taken as one item"));
  CHECK(items(DumpFile().cu({0, 5, 6}, "cu_seqlens_tokens")) == Rows{5, 1});
  CHECK(items(DumpFile().grids({1, 4, 4, 1, 2, 4})) == Rows{4, 2});
  CHECK(items(DumpFile().grids({1, 2, 2, 1, 1, 2}), {"", "", 1}) == Rows{4, 2});
  CHECK(
      items(
          DumpFile().cu({0, 4, 6}).cu({0, 4, 6}, "cu_seqlens_tokens").grids({2, 2, 4, 1, 2, 4})) ==
      Rows{4, 2});
  const std::vector<std::uint8_t> narrow{0, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0};
  CHECK(items(DumpFile().bytes("cu_tokens", DType::i32, {3}, narrow)) == Rows{2, 4});
  const Dump dump = Dump::open(
      DumpFile().rows("embeddings", {6, 3}, 0).grids({1, 4, 4, 1, 2, 4}).write(path), {});
  CHECK(values(dump.items()[1].embeddings)[0] == 12);
  CHECK(*dump.items()[1].grid == GridThw{1, 2, 4});
}

TEST_CASE("boundaries that contradict rows or each other say what they expected") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  struct Case {
    DumpFile file;
    std::string part;
  };
  const std::vector<Case> cases{
      {DumpFile().cu({0, 2, 5}), "cu_tokens makes 5 tokens (merge size 2), embeddings has 6 rows"},
      {DumpFile().cu({0, 4, 2, 6}), "cu_tokens does not ascend: entry 2 is 2 after 4"},
      {DumpFile().cu({0, 3, 3, 6}), "entry 2 is 3 after 3"},
      {DumpFile().cu({1, 6}), "begins at 1, expected [items + 1] that begins at 0"},
      {DumpFile().cu({0, -6}), "does not ascend"},
      {DumpFile().cu({0, std::int64_t{1} << 62}), "does not ascend"},
      {DumpFile().cu({0}), "makes 0 tokens"},
      {DumpFile().cu({}), "cu_tokens is I64 [0], expected"},
      {DumpFile().whole("cu_tokens", {1, 2}, {0, 6}), "cu_tokens is I64 [1, 2]"},
      {DumpFile().rows("cu_tokens", {2}), "cu_tokens is F32 [2], expected I64 or I32"},
      {DumpFile().grids({1, 4, 4}), "grid_thw makes 4 tokens (merge size 2), embeddings has 6"},
      {DumpFile().grids({1, 3, 8}), "1x3x8, height and width are no multiples"},
      {DumpFile().grids({0, 4, 6}), "sides from 1"},
      {DumpFile().grids({-1, -4, 6}), "sides from 1"},
      {DumpFile().grids({std::int64_t{1} << 62, 4, 4}), "sides from 1"},
      {DumpFile().grids({65536, 65536, 65536}), "more rows than any file holds"},
      {DumpFile().whole("grid_thw", {3}, {1, 4, 6}), "grid_thw is I64 [3], expected [items, 3]"},
      {DumpFile().cu({0, 2, 6}).grids({1, 4, 6}), "grid_thw has 1 items, cu_tokens has 2"},
      {DumpFile().cu({0, 2, 6}).grids({1, 4, 4, 1, 2, 4}),
       "item 0 has 2 rows by cu_tokens, 4 by grid_thw"},
      {DumpFile().cu({0, 2, 6}).cu({0, 3, 6}, "cu_seqlens_tokens"),
       "item 0 has 2 rows by cu_tokens, 3 by cu_seqlens_tokens"},
      {DumpFile().rows("deepstack.0", {5, 3}), "deepstack.0 has 5 rows, embeddings has 6"},
      {DumpFile().rows("deepstack.1", {6, 3}), "but no deepstack.0"},
      {DumpFile().header("vtower", record({record_item("a.png"), record_item("b.png")})),
       "the record lists 2 items, the tensors hold 1"},
      {DumpFile().grids({1, 4, 6}).header("vtower", record({record_item("a.png", {1, 6, 4})})),
       "grid_thw of item 0 differs between record and tensor"},
  };
  for (Case one : cases) {
    const std::string found = outcome(one.file.rows("embeddings", {6, 3}).write(path));
    CAPTURE(found);
    CHECK(found.starts_with("out_of_range: " + path.string()));
    CHECK_MESSAGE(says(found, one.part), one.part);
  }
  const DumpFile plain = DumpFile().rows("embeddings", {6, 3}).grids({1, 4, 6});
  for (const std::int64_t merge : {0, -1, 65}) {
    CHECK(says(outcome(plain.write(path), {"", "", merge}), "merge size"));
  }
  CHECK(says(outcome(DumpFile().rows("embeddings", {24, 3}).grids({1, 4, 6}).write(path)),
             "one for each patch"));
}

TEST_CASE("one tensor for each item") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  DumpFile file;
  for (int i = 0; i < 11; ++i) {
    file.rows("image_embeds." + std::to_string(i), {i + 1, 3}, static_cast<float>(100 * i));
  }
  const Dump dump = Dump::open(file.write(path), {});
  REQUIRE(dump.items().size() == 11);
  CHECK(values(dump.items()[10].embeddings)[0] == 1000);
  CHECK(dump.items()[10].embeddings.rows == 11);
  CHECK_FALSE(notes_say(dump, "one item"));

  DumpFile two;
  two.rows("image_embeds.0", {4, 3}).rows("image_embeds.1", {2, 3}, 50);
  CHECK(rows_of_items(Dump::open(DumpFile(two).grids({1, 4, 4, 1, 2, 4}).write(path), {})) ==
        Rows{4, 2});
  const std::string found = outcome(DumpFile(two).grids({1, 2, 4, 1, 4, 4}).write(path));
  CHECK(says(found, "item 0 has 4 rows by image_embeds.0, 2 by grid_thw"));
  CHECK(says(outcome(two.rows("image_embeds.3", {2, 3}).write(path)), "but no image_embeds.2"));
  const Dump deep = Dump::open(DumpFile()
                                   .rows("image_embeds.0", {4, 3})
                                   .rows("image_embeds.1", {2, 3})
                                   .rows("deepstack.0", {6, 3}, 0)
                                   .write(path),
                               {});
  CHECK(values(deep.items()[1].deepstack.at(0))[0] == 12);
  CHECK(outcome(DumpFile().rows("image_embeds.0", {0, 3}).write(path)).starts_with("accepted"));
  DumpFile().rows("image_embeds.0", {0, 3}).rows("image_embeds.1", {2, 3}).write(path);
  CHECK(says(outcome(path), "has no rows"));
}

TEST_CASE("a dump without rows has no item, and is no error here") {
  const TempDir folder;
  const Dump dump =
      Dump::open(DumpFile().rows("embeddings", {0, 3}).write(folder.path() / "a.safetensors"), {});
  CHECK(dump.items().empty());
  CHECK(dump.dtype() == DType::f32);
}

TEST_CASE("stages are never crossed") {  // R99
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  const DumpOptions before{"", "pre_merger_norm"};
  DumpFile tagged;
  tagged.rows("embeddings", {6, 3}).header("stage", "pre_merger_norm").write(path);
  CHECK(Dump::open(path, {}).stage() == "pre_merger_norm");
  CHECK_FALSE(notes_say(Dump::open(path, {}), "taken as final"));
  CHECK(Dump::open(path, before).stage() == "pre_merger_norm");
  CHECK(outcome(path, {"", "merger"}).starts_with("not_comparable: "));

  DumpFile().rows("embeddings", {6, 3}).write(path);
  CHECK(Dump::open(path, {}).stage() == "embeddings");
  CHECK(notes_say(Dump::open(path, {}), "taken as final embeddings"));
  CHECK(Dump::open(path, before).stage() == "pre_merger_norm");
  CHECK(notes_say(Dump::open(path, before), "as asked"));
  CHECK(Dump::open(path, {"", "merger"}).stage() == "embeddings");

  DumpFile().rows("merger", {6, 3}).write(path);
  CHECK(says(outcome(path, before), "merger is embeddings"));
  DumpFile().rows("embeddings", {6, 3}).rows("block.0", {24, 3}).write(path);
  CHECK(says(outcome(path, {"", "block.1"}), "has no tensor block.1"));
  CHECK(Dump::open(path, {"", "block.0"}).items()[0].embeddings.rows == 24);
  CHECK(says(outcome(path, {"block.0", "block.1"}), "was asked for as stage block.1"));
  DumpFile().rows("embeddings", {6, 3}).header("vtower", record({record_item("a")})).write(path);
  CHECK(outcome(path, before).starts_with("not_comparable: "));
}

TEST_CASE("rows of a stage that nobody knows are tokens or patches, whichever fits") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  const DumpOptions options{"x", "of my own"};
  const DumpFile grids = DumpFile().grids({1, 4, 4, 1, 2, 4});
  CHECK(rows_of_items(Dump::open(DumpFile(grids).rows("x", {6, 3}).write(path), options)) ==
        Rows{4, 2});
  CHECK(rows_of_items(Dump::open(DumpFile(grids).rows("x", {24, 3}).write(path), options)) ==
        Rows{16, 8});
  CHECK(outcome(DumpFile(grids).rows("x", {12, 3}).write(path), options)
            .starts_with("out_of_range: "));
  DumpFile().cu({0, 4, 6}).rows("block.0", {24, 3}).write(path);
  CHECK(rows_of_items(Dump::open(path, {"", "block.0"})) == Rows{16, 8});
}

TEST_CASE("the record names the items") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  const auto open = [&](std::vector<nlohmann::json> items) {
    DumpFile file;
    std::vector<std::int64_t> cu{0};
    for (std::size_t i = 0; i < items.size(); ++i) cu.push_back(cu.back() + 1);
    file.rows("embeddings", {cu.back(), 3}).cu(cu).header("vtower", record(std::move(items)));
    return Dump::open(file.write(path), {});
  };
  using Keys = std::set<std::string>;
  const Dump plain = open({record_item("x/a.png", {1, 2, 2}, 1), record_item("x/b.png")});
  CHECK(keys_of(plain) == Keys{"a.png", "b.png"});
  CHECK(plain.has_keys());
  CHECK(plain.notes().empty());
  CHECK(plain.record().at("items").size() == 2);
  CHECK(plain.find("b.png")->path == "x/b.png");
  CHECK(plain.find("b.png")->input_sha256 == std::string(64, 'a'));
  CHECK(*plain.find("a.png")->grid == GridThw{1, 2, 2});
  CHECK_FALSE(plain.find("b.png")->grid);
  CHECK(keys_of(open({record_item("x/a.png"), record_item("y/a.png"), record_item("z/b.png")})) ==
        Keys{"x/a.png", "y/a.png", "b.png"});
  CHECK(keys_of(open({record_item("r.safetensors"), record_item("r.safetensors"),
                      record_item("b")})) == Keys{"r.safetensors#0", "r.safetensors#1", "b"});
  CHECK(keys_of(open({record_item("x/a"), record_item("y/a"), record_item("y/a")})) ==
        Keys{"x/a", "y/a#0", "y/a#1"});
}

TEST_CASE("another program's list of items names them too") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  DumpFile file;
  file.rows("embeddings", {2, 3}).cu({0, 1, 2});
  DumpFile(file)
      .header("vtower_items", R"([{"path": "x/a.png", "sha256": "00"}, {"path": "x/b.png"}])")
      .write(path);
  const Dump dump = Dump::open(path, {});
  CHECK(dump.has_keys());
  CHECK(dump.record().is_null());
  REQUIRE(dump.find("a.png") != nullptr);
  CHECK(dump.find("a.png")->input_sha256 == "00");
  CHECK(notes_say(dump, "no vtower record"));
  const auto found = [&](const std::string& text) {
    return outcome(DumpFile(file).header("vtower_items", text).write(path));
  };
  CHECK(found(R"([{"path": "a"}])").starts_with("out_of_range: "));
  for (const char* text : {"", "{}", "7", "[7]", R"([{"path": 7}])", "[], \"items\": []"}) {
    CHECK(found(text).starts_with("unreadable: "));
  }
}

TEST_CASE("the record's merge size goes before the caller's") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  DumpFile file;
  file.rows("embeddings", {2, 3})
      .grids({1, 4, 8})
      .header("vtower", record({record_item("a", {1, 4, 8}, 2)}));
  CHECK(rows_of_items(Dump::open(file.write(path), {"", "", 2})) == Rows{2});
}

TEST_CASE("a damaged record is refused") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  for (const char* text :
       {"", "{", "[]", "7", R"({"items": {}})", R"({"items": [7]})", R"({"a": 1, "a": 2})",
        R"({"items": [{"path": 7}]})", R"({"items": [{"sha256": []}]})",
        R"({"items": [{"grid_thw": [1, 2]}]})", R"({"items": [{"grid_thw": [1, 2, 0]}]})",
        R"({"items": [{"grid_thw": [1, 2, 1e30]}]})", R"({"items": [{"grid_thw": "1x2x2"}]})"}) {
    CAPTURE(text);
    DumpFile().rows("embeddings", {6, 3}).header("vtower", text).write(path);
    CHECK(outcome(path).starts_with("unreadable: "));
    CHECK(says(outcome(path), "vtower record"));
  }
  DumpFile().rows("embeddings", {6, 3}).header("vtower", "{}").write(path);
  CHECK(outcome(path) == "accepted");
  CHECK(Dump::open(path, {}).notes().size() == 1);  // one item
}

TEST_CASE("widths that join levels are split, others are said") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  DumpFile().rows("embeddings", {4, 6}, 0).cu({0, 3, 4}).write(path);
  const DumpOptions options{"", "", 2, 2, 2};
  const Dump dump = Dump::open(path, options);
  const DumpItem& last = dump.items().at(1);
  REQUIRE(last.deepstack.size() == 2);
  CHECK(values(last.embeddings) == std::vector<float>{18, 19});
  CHECK(values(last.deepstack[0]) == std::vector<float>{20, 21});
  CHECK(values(last.deepstack[1]) == std::vector<float>{22, 23});
  const TokenRows& first = dump.items()[0].deepstack[1];
  CHECK(values(first) == std::vector<float>{4, 5, 10, 11, 16, 17});
  CHECK(values(first.slice(1, 2)) == std::vector<float>{10, 11, 16, 17});
  CHECK(values(first.columns(1, 1)) == std::vector<float>{5, 11, 17});
  CHECK(first.slice(3, 0).rows == 0);

  CHECK(Dump::open(path, {}).items()[0].deepstack.empty());
  CHECK(Dump::open(path, {"", "", 2, 6, 0}).notes().size() == 1);
  CHECK(notes_say(Dump::open(path, {"", "", 2, 6, 2}), "no deepstack levels"));
  CHECK(
      notes_say(Dump::open(path, {"", "", 2, 5, 2}), "6 values, expected 5 or, with 2 deepstack"));
  DumpFile().rows("embeddings", {4, 6}).rows("deepstack.0", {4, 6}).write(path);
  CHECK(Dump::open(path, options).items()[0].embeddings.width == 6);
  CHECK(Dump::open(path, options).items()[0].deepstack.size() == 1);
}

TEST_CASE("deepstack in another element type than the embeddings is said") {  // R95
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  DumpFile()
      .bytes("embeddings", DType::bf16, {2, 2}, {0, 63, 0, 63, 0, 63, 0, 63})
      .rows("deepstack.0", {2, 2})
      .write(path);
  const Dump dump = Dump::open(path, {});
  CHECK(notes_say(dump, "deepstack.0 is F32, embeddings is BF16"));
  CHECK(dump.items()[0].embeddings.dtype == DType::bf16);
  CHECK(dump.items()[0].deepstack[0].dtype == DType::f32);
}

TEST_CASE("a dump outlives the name of its file and can be copied") {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  std::optional<Dump> first = Dump::open(DumpFile().rows("embeddings", {2, 2}).write(path), {});
  std::filesystem::remove(path);
  const Dump copy = *first;
  first.reset();
  CHECK(values(copy.items()[0].embeddings) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("the same file under another name is found") {
  const TempDir folder;
  const std::filesystem::path path = folder.write("a", "x");
  folder.write("b", "x");
  std::filesystem::create_hard_link(path, folder.path() / "hard");
  std::filesystem::create_symlink(path, folder.path() / "soft");
  CHECK(same_file(path, path));
  CHECK(same_file(path, folder.path() / "hard"));
  CHECK(same_file(path, folder.path() / "soft"));
  CHECK(same_file(path, folder.path() / "c" / ".." / "a"));
  CHECK_FALSE(same_file(path, folder.path() / "b"));
  CHECK_FALSE(same_file(path, folder.path() / "absent"));
  CHECK(same_file("absent", "./absent"));
}
