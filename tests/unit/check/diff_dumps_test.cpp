#include <filesystem>

#include "check/diff_items.h"
#include "dump_files.h"
#include "support/doctest.h"

using namespace vtower;
using test::DumpFile;

namespace {

PairReport diff(const std::filesystem::path& a, const std::filesystem::path& b) {
  const Dump dump_a = Dump::open(a, {});
  const Dump dump_b = Dump::open(b, {});
  return to_report(diff_items(dump_a, dump_b, {}), "a", "b");
}

}  // namespace

TEST_CASE("the same file on both sides is vacuous, by any path to it") {
  const test::TempDir folder;
  const auto file = DumpFile().rows("embeddings", {6, 8}).write(folder.path() / "a.safetensors");
  CHECK(diff(file, file).verdict == Verdict::vacuous);
  std::filesystem::create_directory(folder.path() / "sub");
  CHECK(diff(file, folder.path() / "sub/../a.safetensors").verdict == Verdict::vacuous);
  std::filesystem::create_hard_link(file, folder.path() / "hard.safetensors");
  CHECK(diff(file, folder.path() / "hard.safetensors").verdict == Verdict::vacuous);
  std::filesystem::create_symlink(file, folder.path() / "soft.safetensors");
  CHECK(diff(folder.path() / "soft.safetensors", file).verdict == Verdict::vacuous);
}

TEST_CASE("another file of the same bytes is the best agreement") {
  const test::TempDir folder;
  const auto a = DumpFile().rows("embeddings", {6, 8}).write(folder.path() / "a.safetensors");
  const auto b = folder.path() / "b.safetensors";
  std::filesystem::copy_file(a, b);
  const PairReport pair = diff(a, b);
  CHECK(pair.verdict == Verdict::agree);
  CHECK(pair.identical);
  CHECK(pair.items.size() == 1);
}

TEST_CASE("R99: a dump of another stage is not compared with embeddings") {
  const test::TempDir folder;
  const auto a = DumpFile().rows("embeddings", {6, 8}).write(folder.path() / "a.safetensors");
  const auto b = DumpFile().rows("embeddings", {6, 8}).write(folder.path() / "b.safetensors");
  const Dump dump_a = Dump::open(a, {});
  DumpOptions options;
  options.stage = "block.3";
  const Dump dump_b = Dump::open(b, options);
  CHECK(to_report(diff_items(dump_a, dump_b, {}), "a", "b").verdict == Verdict::not_comparable);
  CHECK(diff(a, b).verdict == Verdict::agree);
}

TEST_CASE("files whose items have other boundaries are compared where they can be") {
  const test::TempDir folder;
  const auto a =
      DumpFile().rows("embeddings", {6, 8}).cu({0, 2, 6}).write(folder.path() / "a.safetensors");
  const auto b =
      DumpFile().rows("embeddings", {6, 8}).cu({0, 3, 6}).write(folder.path() / "b.safetensors");
  CHECK(diff(a, b).verdict == Verdict::not_comparable);
  const auto c =
      DumpFile().rows("embeddings", {6, 8}, 2).cu({0, 2, 6}).write(folder.path() / "c.safetensors");
  const PairReport pair = diff(a, c);
  CHECK(pair.verdict == Verdict::differ);
  CHECK(pair.items.size() == 2);
}
