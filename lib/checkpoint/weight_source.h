// The vision tensors of a checkpoint, handed out by name and shape, each exactly once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/planting_key.h"
#include "core/safetensors.h"

namespace vtower {

// Names are without the checkpoint's prefix ("blocks.7.attn.qkv.weight"). Not thread-safe.
class WeightSource {
 public:
  // The tensor as stored: CPU, file dtype (fp32, bf16 or fp16), contiguous. It aliases the mapped
  // file (which it keeps alive) where alignment allows, and must not be written to.
  // Throws Error{checkpoint} when it is missing, taken twice, of another shape or type, or holds a
  // NaN or an infinity (with their count).
  at::Tensor take(const std::string& name, std::vector<std::int64_t> shape);

  // `name` ("blocks.7.attn.qkv.weight") of rows [Q | K | V]; a checkpoint may hold its thirds as
  // ".q.", ".k.", ".v." or ".q_proj.", ".k_proj.", ".v_proj." instead.
  at::Tensor take_qkv(const std::string& name, std::vector<std::int64_t> shape);

  // What take() hands out instead of the stored tensor `name`. With an editor the stored shape is
  // free: what it returns must have the shape that was asked for (asserted).
  using Editor = std::function<at::Tensor(const std::string& name, const at::Tensor& stored)>;
  void edit_with(PlantingKey, Editor editor) { editor_ = std::move(editor); }

  // Throws Error{checkpoint} naming the vision tensors that nobody took.
  void finish() const;

  // Dtype that most of the vision elements have: what `--dtype auto` runs in.
  [[nodiscard]] DType main_dtype() const;
  [[nodiscard]] std::size_t tensor_count() const noexcept { return tensors_.size(); }

  // XXH3 over names, types, shapes and bytes of all vision tensors in order of name.
  [[nodiscard]] std::string hash() const;

 private:
  friend class Checkpoint;
  struct Stored {
    TensorView view;
    std::shared_ptr<const SafetensorsFile> file;
  };
  const Stored& find(const std::string& name, const std::vector<std::int64_t>& shape) const;
  at::Tensor take_stored(const std::string& name, const std::vector<std::int64_t>& shape);

  std::string prefix_;
  std::map<std::string, Stored> tensors_;
  std::set<std::string> taken_;
  Editor editor_;
};

}  // namespace vtower
