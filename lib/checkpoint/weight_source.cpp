#include "checkpoint/weight_source.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <string_view>
#include <utility>

#include "checkpoint/non_finite.h"
#include "core/digest.h"
#include "core/error.h"

namespace vtower {
namespace {

[[noreturn]] void fail(const std::string& tensor, const std::string& what) {
  throw Error(ErrorKind::checkpoint, "weight_source", tensor + ": " + what);
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t side : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(side);
  }
  return text + "]";
}

bool is_read(const std::optional<DType>& type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::bf16: return at::kBFloat16;
    case DType::f16: return at::kHalf;
    default: return at::kFloat;
  }
}

void refuse_non_finite(const std::string& name, const TensorView& view) {
  const NonFiniteCount count = count_non_finite(view.bytes, *view.dtype);
  if (count.nan == 0 && count.infinite == 0) return;
  fail(name, "holds " + std::to_string(count.nan) + " NaN and " + std::to_string(count.infinite) +
                 " infinite values of " + std::to_string(view.bytes.size() / size_of(*view.dtype)) +
                 "; is the download damaged?");
}

// Which family the names of the tensors belong to, as far as one of them tells.
template <typename Tensors>
std::string likely_cause(const Tensors& tensors) {
  if (tensors.contains("blocks.0.mlp.gate_proj.weight")) {
    return "the tensors look like those of qwen2_5_vl; is this another family?";
  }
  if (tensors.contains("blocks.0.mlp.linear_fc1.weight")) {
    return "the tensors look like those of qwen3_vl; is this another family?";
  }
  if (tensors.contains("blocks.0.mlp.fc1.weight")) {
    return "the tensors look like those of qwen2_vl; is this another family?";
  }
  return "is this another family, or a quantised tower?";
}

}  // namespace

const WeightSource::Stored& WeightSource::find(const std::string& name,
                                               const std::vector<std::int64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    fail(name, "expected " + text_of(shape) + ", the checkpoint has no " + prefix_ + name + "; " +
                   likely_cause(tensors_));
  }
  const TensorView& view = found->second.view;
  if (!is_read(view.dtype)) {
    fail(name, "expected F32, BF16 or F16, file has " + view.dtype_name +
                   "; packed and quantised towers are not read");
  }
  if (view.shape != shape && !editor_) {
    fail(name, "expected " + text_of(shape) + ", file has " + text_of(view.shape) + "; " +
                   "is this another family or another size?");
  }
  return found->second;
}

at::Tensor WeightSource::take(const std::string& name, std::vector<std::int64_t> shape) {
  at::Tensor stored = take_stored(name, shape);
  if (!editor_) return stored;
  at::Tensor edited = editor_(name, stored);
  assert(edited.sizes() == at::IntArrayRef(shape));
  return edited;
}

at::Tensor WeightSource::take_stored(const std::string& name,
                                     const std::vector<std::int64_t>& shape) {
  const Stored& stored = find(name, shape);
  if (!taken_.insert(name).second) fail(name, "was taken before");
  const TensorView& view = stored.view;
  refuse_non_finite(name, view);
  const at::TensorOptions options = at::TensorOptions().dtype(scalar_type(*view.dtype));
  if (std::bit_cast<std::uintptr_t>(view.bytes.data()) % size_of(*view.dtype) == 0) {
    // The mapping is read-only; nobody writes to weights.
    void* data = const_cast<std::uint8_t*>(view.bytes.data());
    const std::shared_ptr<const SafetensorsFile> file = stored.file;
    return at::from_blob(
        data, view.shape, [file](void*) {}, options);
  }
  at::Tensor copy = at::empty(view.shape, options);
  std::memcpy(copy.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return copy;
}

at::Tensor WeightSource::take_qkv(const std::string& name, std::vector<std::int64_t> shape) {
  const std::size_t at = name.rfind(".qkv.");
  if (tensors_.contains(name) || at == std::string::npos || shape.empty() || shape[0] % 3 != 0) {
    return take(name, std::move(shape));
  }
  for (const std::string suffix : {"", "_proj"}) {
    const auto part = [&](const char* letter) {
      return name.substr(0, at) + "." + letter + suffix + name.substr(at + 4);
    };
    if (!tensors_.contains(part("q"))) continue;
    std::vector<std::int64_t> third = shape;
    third[0] /= 3;
    const at::Tensor q = take(part("q"), third);
    const at::Tensor k = take(part("k"), third);
    const at::Tensor v = take(part("v"), third);
    if (q.scalar_type() != k.scalar_type() || q.scalar_type() != v.scalar_type()) {
      fail(name, "its parts q, k and v differ in type");
    }
    return at::cat({q, k, v});
  }
  return take(name, std::move(shape));
}

void WeightSource::finish() const {
  constexpr std::size_t shown = 5;
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, stored] : tensors_) {
    if (taken_.contains(name)) continue;
    if (++count <= shown) {
      names += (count > 1 ? ", " : "") + name + " " + text_of(stored.view.shape);
    }
  }
  if (count == 0) return;
  if (count > shown) names += " and " + std::to_string(count - shown) + " more";
  fail(prefix_ + "*", std::to_string(count) + " vision tensors are not part of this tower: " +
                          names + "; do config.json and weights belong together?");
}

DType WeightSource::main_dtype() const {
  std::map<DType, std::size_t> elements;
  for (const auto& [name, stored] : tensors_) {
    if (is_read(stored.view.dtype)) {
      elements[*stored.view.dtype] += stored.view.bytes.size() / size_of(*stored.view.dtype);
    }
  }
  DType main = DType::f32;
  std::size_t most = 0;
  for (const auto& [type, count] : elements) {
    if (count > most) {
      main = type;
      most = count;
    }
  }
  return main;
}

std::string WeightSource::hash() const {
  std::string text;
  for (const auto& [name, stored] : tensors_) {
    text += name + " " + stored.view.dtype_name + " " + text_of(stored.view.shape) + " " +
            xxh3_hex(stored.view.bytes) + "\n";
  }
  return xxh3_hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace vtower
