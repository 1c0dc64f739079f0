#include "cli/html_sources.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "cli/progress_line.h"
#include "cli/report_html.h"
#include "explain/depth.h"
#include "oracle/oracle.h"

namespace vtower::cli {
namespace {

// 0 for "embeddings", 1 + J for "deepstack.J".
std::size_t tensor_index(const std::string& name) {
  const std::string level = "deepstack.";
  return name.starts_with(level) ? 1 + std::stoul(name.substr(level.size())) : 0;
}

std::optional<at::Tensor> tensor_of(const DumpItem& item, std::size_t index) {
  if (index > item.deepstack.size()) return std::nullopt;
  const TokenRows& rows = index == 0 ? item.embeddings : item.deepstack[index - 1];
  at::Tensor tensor = at::empty({rows.rows, rows.width}, to_scalar_type(rows.dtype));
  auto* out = static_cast<std::uint8_t*>(tensor.mutable_data_ptr());
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto row = rows.row(i);
    std::memcpy(out, row.data(), row.size());
    out += row.size();
  }
  return tensor;
}

std::optional<std::size_t> item_index(const JudgementInput& input, const std::string& name) {
  const auto found = std::ranges::find(input.items.names, name);
  if (found == input.items.names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - input.items.names.begin());
}

const DumpItem* item_of(const JudgedRun& run, std::size_t item) {
  return run.place[item] ? &run.dump->items()[*run.place[item]] : nullptr;
}

}  // namespace

PictureSource picture_source(const JudgementInput& input) {
  PictureSource source;
  source.merge_size = input.checkpoint.vision().layout.merge_size;
  source.pixels = [&input](const ItemReport& item) -> std::optional<RawPatches> {
    const auto index = item_index(input, item.item);
    if (!index) return std::nullopt;
    return input.items.load(*index);
  };
  const auto truth = std::make_shared<const oracle::Oracle>(input.checkpoint);
  source.tokens = [&input, truth](std::size_t pair,
                                  const ItemReport& item) -> std::optional<PictureSource::Sides> {
    const auto index = item_index(input, item.item);
    if (!index || pair >= input.runs.size()) return std::nullopt;
    const DumpItem* const found = item_of(input.runs[pair], *index);
    const std::size_t tensor = tensor_index(item.tensor);
    if (found == nullptr) return std::nullopt;
    const std::optional<at::Tensor> side = tensor_of(*found, tensor);
    if (!side) return std::nullopt;
    const oracle::OracleOutput output = truth->encode_item(input.items.load(*index), 0);
    return PictureSource::Sides{*side,
                                tensor == 0 ? output.embeddings : output.deepstack[tensor - 1]};
  };
  return source;
}

PictureSource picture_source(const Dump& a, const Dump& b, std::int64_t merge_size) {
  PictureSource source;
  source.merge_size = merge_size;
  const bool keys = a.has_keys() && b.has_keys();
  source.tokens = [&a, &b, keys](std::size_t,
                                 const ItemReport& item) -> std::optional<PictureSource::Sides> {
    const DumpItem* const left = a.find(item.item);
    if (left == nullptr) return std::nullopt;
    const auto place = static_cast<std::size_t>(left - a.items().data());
    const DumpItem* const right = keys                       ? b.find(item.item)
                                  : place < b.items().size() ? &b.items()[place]
                                                             : nullptr;
    if (right == nullptr) return std::nullopt;
    const auto side_a = tensor_of(*left, tensor_index(item.tensor));
    const auto side_b = tensor_of(*right, tensor_index(item.tensor));
    if (!side_a || !side_b || side_a->sizes() != side_b->sizes()) return std::nullopt;
    return PictureSource::Sides{*side_a, *side_b};
  };
  return source;
}

std::optional<HtmlDepth> depth_of(const Report& report, const JudgementInput& input, double k) {
  if (!report.worst || input.runs.empty()) return std::nullopt;
  const auto index = item_index(input, report.worst->item);
  if (!index) return std::nullopt;
  std::size_t run = 0;  // with the worst token; of a pair of files, the first
  for (std::size_t r = 0; r < input.runs.size(); ++r) {
    const PairReport& pair = report.pairs[r];
    if (pair.a + " against " + pair.b == report.worst->pair) run = r;
  }
  const Placement& placement = input.runs[run].placement;
  const RawPatches item = input.items.load(*index);
  const explain::Depth depth(input.checkpoint, placement, item, input.threads);
  const std::string type(to_string(placement.dtype));
  HtmlDepth chart{report.worst->item, "the tower, run eagerly in " + type, depth.eager(), k};
  if (report.cause) {
    if (auto under = depth.under(report.cause->id, report.cause->variant)) {
      chart.side = "the tower with " + report.cause->id + " in it, run eagerly in " + type;
      chart.stages = std::move(*under);
    }
  }
  return chart;
}

void write_html(const std::filesystem::path& path, const Report& report,
                const JudgementInput& input, double k, const Terminal& terminal) {
  PictureSource source = picture_source(input);
  ProgressLine progress(terminal, "items drawn");
  source.on_progress = [&](std::size_t done, std::size_t of) { progress.update(done, of); };
  write_html(path, report, {html_items(report, source), depth_of(report, input, k)});
}

void write_html(const std::filesystem::path& path, const Report& report, const Dump& a,
                const Dump& b, std::int64_t merge_size) {
  write_html(path, report, {html_items(report, picture_source(a, b, merge_size)), std::nullopt});
}

}  // namespace vtower::cli
