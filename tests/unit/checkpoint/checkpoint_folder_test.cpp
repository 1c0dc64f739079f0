// What may be named as a checkpoint: folders, hub caches, and what is given by mistake.
#include "checkpoint/checkpoint_folder.h"

#include "support/checkpoint_copy.h"
#include "support/doctest.h"

using namespace vtower;
using test::CheckpointCopy;
using test::mentions;

namespace {

std::string refused(const std::filesystem::path& path) {
  return test::refusal([&] { (void)Checkpoint::open(path); });
}

// A hub cache folder whose snapshots are copies of a golden checkpoint.
void add_snapshot(const std::filesystem::path& cache, const std::string& revision) {
  std::filesystem::create_directories(cache / "snapshots");
  const CheckpointCopy copy("qwen2_vl-tiny-bf16");
  std::filesystem::copy(copy.path(), cache / "snapshots" / revision);
}

}  // namespace

TEST_CASE("a hub cache folder leads to the snapshot of refs/main") {
  const test::TempDir dir;
  const auto cache = dir.path() / "models--org--name";
  add_snapshot(cache, "aaa");
  CHECK(Checkpoint::open(cache).folder() == cache / "snapshots" / "aaa");
  add_snapshot(cache, "bbb");
  CHECK(mentions(refused(cache), "aaa bbb"));
  std::filesystem::create_directories(cache / "refs");
  std::ofstream(cache / "refs" / "main") << "bbb\n";
  CHECK(Checkpoint::open(cache).folder() == cache / "snapshots" / "bbb");
  std::ofstream(cache / "refs" / "main") << "ccc";
  CHECK(mentions(refused(cache), "refs/main names this snapshot"));
  std::ofstream(cache / "refs" / "main") << "../../elsewhere";
  CHECK(mentions(refused(cache), "expected the name of a snapshot"));
  CHECK(mentions(refused(dir.path()), "whole hub cache"));
}

TEST_CASE("snapshots whose files are links open") {
  const test::TempDir dir;
  const CheckpointCopy copy("qwen3_vl-tiny-bf16");
  const auto snapshot = dir.path() / "snapshots" / "abc";
  std::filesystem::create_directories(snapshot);
  for (const auto& entry : std::filesystem::directory_iterator(copy.path())) {
    std::filesystem::create_symlink(entry.path(), snapshot / entry.path().filename());
  }
  CHECK(Checkpoint::open(dir.path()).vision().family == Family::qwen3_vl);
}

TEST_CASE("files of other formats are named for what they are") {
  const test::TempDir dir;
  CHECK(mentions(refused(dir.path() / "absent"), "no such folder"));
  CHECK(mentions(refused(dir.path()), "has no config.json"));
  CHECK(mentions(refused(dir.write("model.gguf", "GGUF")), "GGUF file"));
  CHECK(mentions(refused(dir.write("pytorch_model.bin", "PK")), "pickled PyTorch"));
  CHECK(mentions(refused(dir.write("model.safetensors", "x")), "name the folder"));
  CHECK(mentions(refused(dir.path()), "model.safetensors"));
  dir.write("adapter_config.json", "{}");
  CHECK(mentions(refused(dir.path()), "adapter"));
}

TEST_CASE("a folder without safetensors says what lies there instead") {
  for (const char* name : {"pytorch_model.bin", "model.gguf", "weights.pt"}) {
    CAPTURE(name);
    const CheckpointCopy copy("qwen2_vl-tiny-bf16");
    copy.remove("model.safetensors");
    CHECK(mentions(copy.refusal(), "holds no weights"));
    copy.write(name, "x");
    CHECK(mentions(copy.refusal(), name));
    CHECK(mentions(copy.refusal(), "model.safetensors"));
  }
  const CheckpointCopy shards("qwen2_5_vl-tiny-fp32");
  shards.remove("model.safetensors.index.json");
  CHECK(mentions(shards.refusal(), "the index of these shards is missing"));
}

TEST_CASE("a directory in the place of a file is refused") {
  for (const char* name : {"config.json", "preprocessor_config.json", "model.safetensors"}) {
    CAPTURE(name);
    const CheckpointCopy copy("qwen2_vl-tiny-bf16");
    copy.remove(name);
    std::filesystem::create_directory(copy.file(name));
    CHECK(mentions(copy.refusal(), name));
  }
}
