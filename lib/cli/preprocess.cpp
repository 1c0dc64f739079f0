#include "cli/preprocess.h"

#include "cli/file_source.h"
#include "cli/progress_line.h"
#include "cli/record.h"
#include "cli/run_arguments.h"
#include "core/raw_patch_dump.h"
#include "engine/load_items.h"

namespace vtower::cli {

ExitCode PreprocessCommand::operator()(const Terminal& terminal) const {
  const Checkpoint opened = Checkpoint::open(checkpoint);
  const PixelSpec spec = media.apply_to(opened.preprocessor().pixels);
  const int count = thread_count(threads);
  const FileSource source(media.paths(), spec, media.options, count);
  ProgressLine progress(terminal, "items");
  const std::vector<LoadResult> loaded =
      load_items(source, count, [&](std::size_t done) { progress.update(done, source.size()); });

  std::vector<const RawPatches*> rows;
  std::vector<ItemFailure> failed;
  std::vector<ExitCode> codes{ExitCode::ok};
  Json items = Json::array();
  for (const LoadResult& result : loaded) {
    if (const auto* failure = std::get_if<ItemFailure>(&result)) {
      terminal.complain(failure->path + ": " + failure->message);
      codes.push_back(exit_code_of(failure->kind));
      failed.push_back(*failure);
      continue;
    }
    const auto& item = std::get<LoadedItem>(result);
    rows.push_back(&item.patches);
    Json entry = item_json(item.record);
    const GridThw& grid = item.patches.grids().front();
    entry["grid_thw"] = {grid.t, grid.h, grid.w};
    entry["rows_sha256"] = RawPatchWriter::sha256(item.patches);
    items.push_back(std::move(entry));
  }
  if (!rows.empty()) {
    const Json record{{"version", versions_json()},
                      {"profile", profile_json(media)},
                      {"items", items},
                      {"failed", to_json(failed)}};
    RawPatchWriter::write(output, rows, file_metadata(record));
    std::int64_t row_count = 0;
    for (const RawPatches* part : rows) row_count += part->rows();
    terminal.say(output + ": " + std::to_string(rows.size()) + " items, " +
                 std::to_string(row_count) + " patch rows of " +
                 std::to_string(spec.layout.row_width()) + " bytes");
  }
  const ExitCode code = worst(codes);
  terminal.report({{"output", rows.empty() ? Json() : Json(output)},
                   {"items", items},
                   {"failed", to_json(failed)},
                   {"exit_code", static_cast<int>(code)}});
  return code;
}

}  // namespace vtower::cli
