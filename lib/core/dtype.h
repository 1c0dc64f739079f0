// Element types as they appear in files and options.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace vtower {

enum class DType { boolean, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

// Bytes of one element.
std::size_t size_of(DType type) noexcept;

// "BF16": the name in safetensors headers; "bf16": the name in options and records.
std::string_view safetensors_name(DType type) noexcept;
std::string_view to_string(DType type) noexcept;

// Empty for names that vtower does not read (F8_E4M3, C64, ...).
std::optional<DType> dtype_from_safetensors(std::string_view name) noexcept;

}  // namespace vtower
