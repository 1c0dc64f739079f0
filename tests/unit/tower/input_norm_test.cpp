#include "tower/input_norm.h"

#include <cstdlib>
#include <string>

#include "checkpoint/checkpoint.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/safetensors_tensor.h"

using namespace vtower;

namespace {

InputNorm norm_of(const std::string& checkpoint, DType dtype = DType::f32) {
  return InputNorm(
      Checkpoint::open(test::golden("towers/checkpoints") / checkpoint).preprocessor().norm,
      {dtype, c10::kCPU});
}

// The stage "normalized" of rows in which every channel walks through all bytes.
at::Tensor normalised_bytes(const InputNorm& norm, const PatchLayout& layout) {
  ByteBuffer rows(static_cast<std::size_t>(4 * layout.row_width()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows.data()[i] = static_cast<std::uint8_t>(i);
  const RawPatches patches = RawPatches::from_rows(std::move(rows), {{1, 2, 2}}, layout);
  at::Tensor values;
  const StageTrace keep([&](const std::string& stage, const at::Tensor& value) {
    CHECK(stage == "normalized");
    values = value.clone();
  });
  (void)norm(patches, keep);
  return values;
}

}  // namespace

TEST_CASE("the table equals the reference's in every bit") {
  const nlohmann::json tables = test::golden_json("media/normalise.json").at("tables");
  for (const auto& [checkpoint, table] :
       {std::pair<std::string, std::string>{"qwen2_vl-tiny-fp32", "qwen2-torchvision"},
        {"qwen2_5_vl-tiny-fp32", "qwen2-torchvision"},
        {"qwen3_vl-tiny-fp32", "qwen3-torchvision"}}) {
    const InputNorm norm = norm_of(checkpoint);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t u = 0; u < 256; ++u) {
        const auto text = tables.at(table).at("values").at(c).at(u).get<std::string>();
        REQUIRE(norm.table()[c][u] == std::strtof(text.c_str(), nullptr));
      }
    }
  }
}

TEST_CASE("rows are the table, cast once, in every dtype") {
  const PatchLayout layout{14, 2, 2};
  const InputNorm norm = norm_of("qwen2_vl-tiny-fp32");
  const at::Tensor wide = normalised_bytes(norm, layout);
  const std::int64_t plane = layout.row_width() / 3;
  const auto* values = wide.const_data_ptr<float>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    const auto channel = static_cast<std::size_t>(i % layout.row_width() / plane);
    REQUIRE(values[i] == norm.table()[channel][static_cast<std::size_t>(i % 256)]);
  }
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const at::Tensor narrow = normalised_bytes(norm_of("qwen2_vl-tiny-fp32", dtype), layout);
    CHECK((narrow.scalar_type() == to_scalar_type(dtype)));
    CHECK(narrow.equal(wide.to(to_scalar_type(dtype))));
  }
}
