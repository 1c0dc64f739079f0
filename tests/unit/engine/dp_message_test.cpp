// Results between ranks: every field and every bit, as they were.
#include "engine/dp_message.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include "core/error.h"
#include "engine/record_json.h"
#include "support/doctest.h"

using namespace vtower;

namespace {

at::Tensor numbers(std::int64_t rows, std::int64_t width, at::ScalarType type) {
  return at::arange(rows * width, at::kFloat).view({rows, width}).to(type);
}

ItemRecord full_record() {
  ItemRecord record;
  record.kind = ItemKind::video;
  record.path = "no utf-8: \xff\xfe.mp4";
  record.format = "mov,mp4";
  record.sha256 = "abc";
  record.stored = {1, 2};
  record.orientation = 6;
  record.orientation_applied = true;
  record.decoded = {3, 4};
  record.resized = {5, 6};
  record.notes = {"one", "two"};
  VideoRecord& video = record.video.emplace();
  video.frame_count = 9;
  video.header_frame_count = 10;
  video.fps = 30000.0 / 1001;
  video.fps_origin = "container";
  video.sampled_fps = 1.0 / 3;
  video.rule = "rule";
  video.frames_asked = 11;
  video.start_seconds = 0.1;
  video.rotation_degrees = 90;
  video.pixel_format = "yuv420p";
  video.colour = "bt709";
  video.frames = {{1, 0.25, "f", std::nullopt}, {2, 0.5, "g", 1}};
  return record;
}

void check_equal(const ItemRecord& a, const ItemRecord& b) {
  CHECK(a.kind == b.kind);
  CHECK(a.path == b.path);
  CHECK(a.format == b.format);
  CHECK(a.sha256 == b.sha256);
  CHECK(a.stored == b.stored);
  CHECK(a.orientation == b.orientation);
  CHECK(a.orientation_applied == b.orientation_applied);
  CHECK(a.decoded == b.decoded);
  CHECK(a.resized == b.resized);
  CHECK(a.notes == b.notes);
  REQUIRE(a.video.has_value() == b.video.has_value());
  if (!a.video) return;
  CHECK(a.video->frame_count == b.video->frame_count);
  CHECK(a.video->header_frame_count == b.video->header_frame_count);
  CHECK(a.video->fps == b.video->fps);
  CHECK(a.video->fps_origin == b.video->fps_origin);
  CHECK(a.video->sampled_fps == b.video->sampled_fps);
  CHECK(a.video->rule == b.video->rule);
  CHECK(a.video->frames_asked == b.video->frames_asked);
  CHECK(a.video->start_seconds == b.video->start_seconds);
  CHECK(a.video->rotation_degrees == b.video->rotation_degrees);
  CHECK(a.video->pixel_format == b.video->pixel_format);
  CHECK(a.video->colour == b.video->colour);
  REQUIRE(a.video->frames.size() == b.video->frames.size());
  for (std::size_t i = 0; i < a.video->frames.size(); ++i) {
    CHECK(a.video->frames[i].index == b.video->frames[i].index);
    CHECK(a.video->frames[i].seconds == b.video->frames[i].seconds);
    CHECK(a.video->frames[i].sha256 == b.video->frames[i].sha256);
    CHECK(a.video->frames[i].replaced_by == b.video->frames[i].replaced_by);
  }
}

DpMessage results() {
  // Views of a batch with odd sizes, one of them not contiguous.
  const at::Tensor batch = numbers(9, 3, at::kBFloat16);
  EncodedItem item{
      {{2, 4, 6}, batch.narrow(0, 1, 3), {numbers(3, 10, at::kBFloat16).narrow(1, 2, 3)}},
      full_record(),
      {{"block.1", numbers(12, 5, at::kFloat)}}};
  DpMessage message;
  message.kind = DpMessage::Kind::results;
  message.form = OutputForm::of(item.embeddings);
  message.ledger.passes = 3;
  message.ledger.stages = {{"merger", 5, 48, at::kBFloat16, c10::Device(c10::kCUDA, 1)}};
  message.ledger.norm_allowed[2] = {-1.5F, 2.25F};
  message.ledger.norm_observed[0] = {0.1F, 0.2F};
  message.results.emplace_back(7, std::move(item));
  message.results.emplace_back(2, ItemFailure{"\xff", ErrorKind::aspect_ratio, "why"});
  message.results.emplace_back(3, EncodedItem{{{1, 2, 2}, batch.narrow(0, 8, 1), {}}, {}, {}});
  return message;
}

}  // namespace

TEST_CASE("results arrive as they were") {
  const DpMessage sent = results();
  const PackedMessage packed = pack(sent);
  CHECK(payload_bytes(packed.header) == packed.payload.size(0));
  // no padding but alignment: 9 + 9 + 3 bf16 and 60 fp32 values
  CHECK(packed.payload.size(0) == 32 + 32 + 240 + 16);
  const DpMessage got = unpack(packed.header, packed.payload);
  CHECK(got.kind == DpMessage::Kind::results);
  CHECK(got.form == sent.form);
  CHECK(got.ledger.passes == 3);
  REQUIRE(got.ledger.stages.size() == 1);
  CHECK(got.ledger.stages[0].stage == "merger");
  CHECK(got.ledger.stages[0].rows == 5);
  CHECK(got.ledger.stages[0].width == 48);
  CHECK((got.ledger.stages[0].dtype == at::kBFloat16));
  CHECK((got.ledger.stages[0].device == c10::Device(c10::kCUDA, 1)));
  CHECK(got.ledger.norm_allowed[2].smallest == -1.5F);
  CHECK(got.ledger.norm_allowed[2].largest == 2.25F);
  CHECK(got.ledger.norm_observed[0].largest == 0.2F);
  REQUIRE(got.results.size() == 3);
  for (const std::size_t i : {0, 2}) {
    CHECK(got.results[i].first == sent.results[i].first);
    const auto& a = std::get<EncodedItem>(got.results[i].second);
    const auto& b = std::get<EncodedItem>(sent.results[i].second);
    CHECK(a.embeddings.grid == b.embeddings.grid);
    CHECK((a.embeddings.embeddings.scalar_type() == at::kBFloat16));
    CHECK(a.embeddings.embeddings.equal(b.embeddings.embeddings));
    REQUIRE(a.embeddings.deepstack.size() == b.embeddings.deepstack.size());
    for (std::size_t j = 0; j < a.embeddings.deepstack.size(); ++j) {
      CHECK(a.embeddings.deepstack[j].equal(b.embeddings.deepstack[j]));
    }
    REQUIRE(a.stages.size() == b.stages.size());
    for (const auto& [stage, rows] : b.stages) CHECK(a.stages.at(stage).equal(rows));
    check_equal(a.record, b.record);
  }
  const auto& failure = std::get<ItemFailure>(got.results[1].second);
  CHECK(failure.path == "\xff");
  CHECK(failure.kind == ErrorKind::aspect_ratio);
  CHECK(failure.message == "why");
}

TEST_CASE("a record of raw rows has no sizes and comes back without them") {
  ItemRecord record = full_record();
  record.kind = ItemKind::raw;
  record.video.reset();
  const ItemRecord got = item_record_of(item_json(record));
  CHECK(got.kind == ItemKind::raw);
  CHECK(got.path == record.path);
  CHECK(got.notes == record.notes);
  CHECK(got.stored == ImageSize{});
  CHECK_FALSE(got.orientation);
  CHECK_FALSE(got.video);
}

TEST_CASE("a name that nothing has is refused") {
  nlohmann::ordered_json item = item_json(full_record());
  item["kind"] = "hologram";
  CHECK_THROWS_WITH_AS((void)item_record_of(item), doctest::Contains("'hologram'"), Error);
  LedgerRecord ledger;
  ledger.stages = {{"merger", 5, 48, at::kHalf, c10::kCPU}};
  nlohmann::ordered_json json = ledger_json(ledger);
  CHECK((ledger_record_of(json).stages[0].dtype == at::kHalf));
  json["stages"][0]["dtype"] = "fp4";
  CHECK_THROWS_WITH_AS((void)ledger_record_of(json), doctest::Contains("'fp4'"), Error);
}

TEST_CASE("an empty rank states the form of its outputs and sends no row") {
  DpMessage message;
  message.kind = DpMessage::Kind::results;
  message.form = OutputForm::of({{}, at::empty({0, 48}, at::kBFloat16), {}});
  const PackedMessage packed = pack(message);
  CHECK(packed.payload.size(0) == 0);
  const DpMessage got = unpack(packed.header, packed.payload);
  CHECK(got.form.width == 48);
  CHECK(got.form.dtype == "BFloat16");
  CHECK(got.form.device == "cpu");
  CHECK_FALSE(got.form == OutputForm::of({{}, at::empty({0, 48}, at::kByte), {}}));
  CHECK_FALSE(got.form == OutputForm::of({{}, at::empty({0, 49}, at::kBFloat16), {}}));
}

TEST_CASE("statements and failures travel") {
  DpMessage message;
  message.kind = DpMessage::Kind::prepared;
  message.statements = {{"checkpoint", "1"}, {"inputs", "\xff"}};
  CHECK(unpack(pack(message).header, at::empty({0}, at::kByte)).statements == message.statements);
  message.kind = DpMessage::Kind::failed;
  message.error = ErrorKind::memory;
  message.text = "out of memory";
  const DpMessage got = unpack(pack(message).header, at::empty({0}, at::kByte));
  CHECK(got.kind == DpMessage::Kind::failed);
  CHECK(got.error == ErrorKind::memory);
  CHECK(got.text == "out of memory");
}

TEST_CASE("bytes of another program, and a payload that is cut, are refused") {
  const PackedMessage packed = pack(results());
  CHECK_THROWS_AS((void)payload_bytes("GET / HTTP/1.1"), Error);
  CHECK_THROWS_AS((void)payload_bytes(packed.header.substr(0, 40)), Error);
  CHECK_THROWS_AS((void)unpack(packed.header, packed.payload.narrow(0, 0, 16)), Error);
  CHECK_THROWS_AS((void)unpack("", at::empty({0}, at::kByte)), Error);
}
