#include "core/dtype.h"

#include <array>

namespace vtower {
namespace {

struct Row {
  DType type;
  std::size_t size;
  std::string_view file_name;
  std::string_view option_name;
};

constexpr std::array<Row, 13> rows{{
    {DType::boolean, 1, "BOOL", "bool"},
    {DType::u8, 1, "U8", "uint8"},
    {DType::i8, 1, "I8", "int8"},
    {DType::u16, 2, "U16", "uint16"},
    {DType::i16, 2, "I16", "int16"},
    {DType::u32, 4, "U32", "uint32"},
    {DType::i32, 4, "I32", "int32"},
    {DType::u64, 8, "U64", "uint64"},
    {DType::i64, 8, "I64", "int64"},
    {DType::f16, 2, "F16", "fp16"},
    {DType::bf16, 2, "BF16", "bf16"},
    {DType::f32, 4, "F32", "fp32"},
    {DType::f64, 8, "F64", "fp64"},
}};

constexpr const Row& row(DType type) noexcept {
  return rows[static_cast<std::size_t>(type)];
}

}  // namespace

std::size_t size_of(DType type) noexcept {
  return row(type).size;
}
std::string_view safetensors_name(DType type) noexcept {
  return row(type).file_name;
}
std::string_view to_string(DType type) noexcept {
  return row(type).option_name;
}

std::optional<DType> dtype_from_safetensors(std::string_view name) noexcept {
  for (const Row& candidate : rows) {
    if (candidate.file_name == name) return candidate.type;
  }
  return std::nullopt;
}

}  // namespace vtower
