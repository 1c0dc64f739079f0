// Where one item of a dump ends and the next begins. Part of reading dumps (dump.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/dump_source.h"
#include "core/grid_thw.h"

namespace vtower {

enum class RowUnit {
  token,    // after the merger
  patch,    // before it
  unknown,  // whichever of the two fits
};

struct RowLayout {
  std::string name;       // of the tensor, for messages
  std::int64_t rows = 0;  // of all items together
  // Rows of each item, where each has a tensor of its own; empty: one tensor holds all.
  std::vector<std::int64_t> parts;
  RowUnit unit = RowUnit::token;
  std::int64_t merge_size = 2;
};

struct Boundaries {
  std::vector<std::int64_t> cu;  // [items + 1] in rows, from 0
  std::vector<GridThw> grids;    // [items], or empty
  bool assumed = false;          // nothing said where: taken as one item
};

// From `cu_tokens`, else `cu_seqlens_tokens`, else `grid_thw`; all that are there must agree with
// each other and with the rows. Throws Error{out_of_range} where they do not.
Boundaries find_boundaries(const DumpSource& source, const RowLayout& layout);

}  // namespace vtower
