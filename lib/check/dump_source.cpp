#include "check/dump_source.h"

#include <algorithm>

#include "core/npy.h"

namespace vtower {
namespace {

constexpr std::size_t most_listed = 12;  // tensors in one message

DumpSource from_arrays(const std::filesystem::path& path, std::map<std::string, NpyArray> arrays) {
  const auto kept = std::make_shared<const std::map<std::string, NpyArray>>(std::move(arrays));
  DumpSource source{path, {}, {}, kept};
  for (const auto& [name, array] : *kept) {
    source.tensors.emplace(name, TensorView{std::string(safetensors_name(array.dtype)), array.dtype,
                                            array.shape, array.bytes.span()});
  }
  return source;
}

}  // namespace

const TensorView* DumpSource::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

std::string DumpSource::contents() const {
  std::string text;
  std::size_t listed = 0;
  for (const auto& [name, view] : tensors) {
    if (listed == most_listed) {
      return text + " and " + std::to_string(tensors.size() - listed) + " more";
    }
    text += (listed++ == 0 ? "" : ", ") + name + " " + describe(view);
  }
  return text.empty() ? "nothing" : text;
}

void DumpSource::fail(ErrorKind kind, const std::string& what) const {
  throw Error(kind, "dump", path.string() + ": " + what);
}

std::string describe(const TensorView& view) {
  std::string text = view.dtype_name + " [";
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(view.shape[i]);
  }
  return text + "]";
}

DumpSource open_safetensors_source(const std::filesystem::path& path) {
  const auto file = std::make_shared<const SafetensorsFile>(path, ErrorKind::unreadable);
  return {path, file->tensors(), file->metadata(), file};
}

DumpSource open_npz_source(const std::filesystem::path& path) {
  return from_arrays(path, read_npz(path));
}

DumpSource open_npy_source(const std::filesystem::path& path) {
  std::map<std::string, NpyArray> arrays;
  arrays.emplace("embeddings", read_npy(path));
  return from_arrays(path, std::move(arrays));
}

TokenRows to_token_rows(const DumpSource& source, const std::string& name) {
  const TensorView& view = source.tensors.at(name);
  const std::string found = name + " is " + describe(view) + ", expected ";
  const auto floats = {DType::f16, DType::bf16, DType::f32, DType::f64};
  if (!view.dtype || std::find(floats.begin(), floats.end(), *view.dtype) == floats.end()) {
    source.fail(ErrorKind::unsupported, found + "F16, BF16, F32 or F64 values");
  }
  const std::size_t sides = view.shape.size();
  const bool flat = sides == 2 || (sides == 3 && view.shape.front() == 1);
  const std::int64_t rows = flat ? view.shape[sides - 2] : -1;
  const std::int64_t width = flat ? view.shape[sides - 1] : -1;
  if (rows < 0 || width < 1) {
    source.fail(ErrorKind::unsupported, found + "[tokens, width] or [1, tokens, width]");
  }
  return {*view.dtype, rows, width, view.bytes};
}

}  // namespace vtower
