#include "cli/embeddings_file.h"

#include "core/safetensors.h"
#include "tower/placement.h"

namespace vtower::cli {
namespace {

// Rows of all items one after the other; keeps the tensors whose bytes are to be written alive.
class RowWriter {
 public:
  explicit RowWriter(std::string name) : entry_{std::move(name), DType::f32, {}, {}} {}

  void add(const at::Tensor& rows) {
    kept_.push_back(rows.cpu().contiguous());
    const at::Tensor& kept = kept_.back();
    if (entry_.shape.empty()) {
      entry_.dtype = to_dtype(kept.scalar_type());
      entry_.shape = kept.sizes().vec();
      entry_.shape[0] = 0;
    }
    entry_.shape[0] += kept.size(0);
    entry_.parts.emplace_back(static_cast<const std::uint8_t*>(kept.const_data_ptr()),
                              kept.nbytes());
  }
  [[nodiscard]] const TensorToWrite& entry() const { return entry_; }

 private:
  TensorToWrite entry_;
  std::vector<at::Tensor> kept_;
};

TensorToWrite numbers(const std::string& name, std::vector<std::int64_t> shape,
                      const std::vector<std::int64_t>& values) {
  return {name,
          DType::i64,
          std::move(shape),
          {{reinterpret_cast<const std::uint8_t*>(values.data()),
            values.size() * sizeof(std::int64_t)}}};
}

}  // namespace

void write_embeddings(const std::filesystem::path& path, std::span<const EncodedItem* const> items,
                      const std::map<std::string, std::string>& metadata) {
  std::map<std::string, RowWriter> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& rows) {
    tensors.try_emplace(name, name).first->second.add(rows);
  };
  std::vector<std::int64_t> cu_tokens{0};
  std::vector<std::int64_t> grid_thw;
  for (const EncodedItem* item : items) {
    const ItemEmbeddings& values = item->embeddings;
    add("embeddings", values.embeddings);
    for (std::size_t j = 0; j < values.deepstack.size(); ++j) {
      add("deepstack." + std::to_string(j), values.deepstack[j]);
    }
    for (const auto& [stage, rows] : item->stages) add(stage, rows);
    cu_tokens.push_back(cu_tokens.back() + values.embeddings.size(0));
    grid_thw.insert(grid_thw.end(), {values.grid.t, values.grid.h, values.grid.w});
  }
  const auto count = static_cast<std::int64_t>(items.size());
  std::vector<TensorToWrite> list{numbers("cu_tokens", {count + 1}, cu_tokens),
                                  numbers("grid_thw", {count, 3}, grid_thw)};
  for (const auto& [name, writer] : tensors) list.push_back(writer.entry());
  write_safetensors(path, std::move(list), metadata);
}

}  // namespace vtower::cli
