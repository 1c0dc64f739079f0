// Error by depth as a chart.
#pragma once

#include <string>
#include <vector>

#include "explain/depth.h"

namespace vtower::cli {

// One run of one item, stage by stage.
struct HtmlDepth {
  std::string item;
  std::string side;  // "eager in bf16", "the tower with norm_skipped"
  std::vector<explain::StageError> stages;
  double k = 3;  // limit = k * floor
};

// Stages from left to right, errors upwards on a logarithmic scale: the run as a line, what
// rounding can make as a band, the limit dashed. Inline SVG with a caption; empty without stages.
std::string html_depth(const HtmlDepth& depth);

}  // namespace vtower::cli
