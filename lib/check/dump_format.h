// What kind of file a dump is. Part of reading dumps (dump.h).
#pragma once

#include <filesystem>

namespace vtower {

enum class DumpFormat {
  safetensors,
  npy,
  npz,
  pytorch,  // .pt, .pth, .bin: a pickle
  mtmd,     // llama.cpp: int32 tokens, int32 width, float32 values; or its log
  unknown,
};

// By name where that says it, else by the first bytes. Throws Error{unreadable} for a file that
// cannot be opened.
DumpFormat dump_format(const std::filesystem::path& path);

}  // namespace vtower
