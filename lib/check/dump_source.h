// The arrays of one file, whatever the file is. Part of reading dumps (dump.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "check/token_rows.h"
#include "core/safetensors.h"

namespace vtower {

struct DumpSource {
  std::filesystem::path path;
  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;
  std::shared_ptr<const void> owner;  // of the bytes of the tensors

  [[nodiscard]] const TensorView* find(const std::string& name) const;
  // "embeddings F32 [45, 48], grid_thw I64 [3, 3]"
  [[nodiscard]] std::string contents() const;
  [[noreturn]] void fail(ErrorKind kind, const std::string& what) const;
};

// "F32 [45, 48]"
std::string describe(const TensorView& view);

// All three map or hold the whole file and throw Error as the readers in core do.
DumpSource open_safetensors_source(const std::filesystem::path& path);
DumpSource open_npz_source(const std::filesystem::path& path);
// Its only array has no name of its own: it is called "embeddings".
DumpSource open_npy_source(const std::filesystem::path& path);

// [tokens, width] or [1, tokens, width] of f16, bf16, f32 or f64, else Error{unsupported}.
TokenRows to_token_rows(const DumpSource& source, const std::string& name);

}  // namespace vtower
