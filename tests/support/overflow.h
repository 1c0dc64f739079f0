// A tower that leaves the range of fp16 on some pictures and not on others.
#pragma once

#include <cstring>

#include "support/checkpoint_copy.h"
#include "support/towers.h"

namespace vtower::test {

// qwen2_vl-tiny with a patch embedding so steep that noise ends beyond fp16's 65504 in stage
// patch_embed, and grey at the mean, which the norm takes to about 0, does not.
inline VisionTower steep_tower(const Placement& placement) {
  const CheckpointCopy copy("qwen2_vl-tiny-fp32");
  copy.edit_tensors([](OwnedTensor& tensor) {
    if (tensor.name != "visual.patch_embed.proj.weight") return;
    for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + i, sizeof(float));
      value *= 2e5F;
      std::memcpy(tensor.bytes.data() + i, &value, sizeof(float));
    }
  });
  return VisionTower::load(copy.open(), placement);
}

inline RawPatches grey_patches(const PatchLayout& layout, const GridThw& grid) {
  ByteBuffer bytes(static_cast<std::size_t>(grid.patches() * layout.row_width()));
  const auto channel = static_cast<std::size_t>(layout.row_width()) / 3;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    constexpr std::uint8_t mean[] = {123, 117, 104};  // CLIP's
    bytes.data()[i] = mean[i / channel % 3];
  }
  return RawPatches::from_rows(std::move(bytes), {grid}, layout);
}

// Items of noise and grey in turn, noise first.
class NoiseAndGrey final : public ItemSource {
 public:
  NoiseAndGrey(const PatchLayout& layout, std::vector<GridThw> grids)
      : layout_(layout), grids_(std::move(grids)) {}
  [[nodiscard]] std::size_t size() const override { return grids_.size(); }
  [[nodiscard]] std::variant<ItemHeader, ItemFailure> header(std::size_t i) const override {
    return ItemHeader{ItemKind::raw, grids_[i]};
  }
  [[nodiscard]] std::variant<LoadedItem, ItemFailure> load(std::size_t i) const override {
    ItemRecord record;
    record.kind = ItemKind::raw;
    record.path = "item " + std::to_string(i);
    return LoadedItem{
        i % 2 == 0 ? noise_patches(layout_, {grids_[i]}, 5) : grey_patches(layout_, grids_[i]),
        std::move(record)};
  }

 private:
  PatchLayout layout_;
  std::vector<GridThw> grids_;
};

}  // namespace vtower::test
