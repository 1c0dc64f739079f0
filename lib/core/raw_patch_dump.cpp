#include "core/raw_patch_dump.h"

#include <cstring>

#include "core/digest.h"
#include "core/safetensors.h"

namespace vtower {
namespace {

std::string describe(const TensorView& view) {
  std::string text = view.dtype_name + " [";
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(view.shape[i]);
  }
  return text + "]";
}

const TensorView& require(const SafetensorsFile& file, const std::string& name, DType dtype,
                          std::int64_t columns) {
  const std::string expected =
      std::string(safetensors_name(dtype)) + " [*, " + std::to_string(columns) + "]";
  const TensorView* view = file.find(name);
  if (view == nullptr) {
    throw Error(ErrorKind::unreadable, "raw_patch_dump",
                file.path().string() + ": has no tensor " + name + ", expected " + expected);
  }
  if (view->dtype != dtype || view->shape.size() != 2 || view->shape[1] != columns) {
    throw Error(ErrorKind::unreadable, "raw_patch_dump",
                file.path().string() + ": " + name + " is " + describe(*view) + ", expected " +
                    expected + "; were the rows made for another family?");
  }
  return *view;
}

}  // namespace

void RawPatchWriter::write(const std::filesystem::path& path,
                           std::span<const RawPatches* const> parts,
                           const std::map<std::string, std::string>& metadata) {
  TensorToWrite pixels{"pixels", DType::u8, {0, 0}, {}};
  std::vector<std::int64_t> grids;
  for (const RawPatches* part : parts) {
    pixels.shape[0] += part->rows();
    pixels.shape[1] = part->row_width();
    pixels.parts.push_back(part->bytes(RawBytesKey{}));
    for (const GridThw& grid : part->grids()) grids.insert(grids.end(), {grid.t, grid.h, grid.w});
  }
  const auto items = static_cast<std::int64_t>(grids.size() / 3);
  const std::span<const std::uint8_t> grid_bytes(
      reinterpret_cast<const std::uint8_t*>(grids.data()), grids.size() * sizeof(std::int64_t));
  write_safetensors(path, {pixels, {"grid_thw", DType::i64, {items, 3}, {grid_bytes}}}, metadata);
}

std::string RawPatchWriter::sha256(const RawPatches& patches) {
  return sha256_hex(patches.bytes(RawBytesKey{}));
}

bool is_raw_patch_dump(const std::filesystem::path& path) {
  try {
    const SafetensorsFile file(path, ErrorKind::unreadable);
    const TensorView* pixels = file.find("pixels");
    return pixels != nullptr && pixels->dtype == DType::u8;
  } catch (const Error&) {
    return false;
  }
}

RawPatches read_raw_patch_dump(const std::filesystem::path& path, const PatchLayout& layout) {
  const SafetensorsFile file(path, ErrorKind::unreadable);
  const TensorView pixels = require(file, "pixels", DType::u8, layout.row_width());
  const TensorView grid_thw = require(file, "grid_thw", DType::i64, 3);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(grid_thw.shape[0]) * 3);
  std::memcpy(numbers.data(), grid_thw.bytes.data(), grid_thw.bytes.size());
  std::vector<GridThw> grids;
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    grids.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  }
  ByteBuffer rows(pixels.bytes.size());
  std::memcpy(rows.data(), pixels.bytes.data(), pixels.bytes.size());
  return RawPatches::from_rows(std::move(rows), std::move(grids), layout);
}

}  // namespace vtower
