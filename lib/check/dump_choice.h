// Which tensors of a file hold the rows to compare, and what they are. Part of reading dumps
// (dump.h).
#pragma once

#include <string>
#include <vector>

#include "check/dump.h"
#include "check/dump_boundaries.h"
#include "check/dump_source.h"

namespace vtower {

struct DumpChoice {
  std::string stage;
  std::vector<std::string> names;  // one tensor of all items, or NAME.0, NAME.1, ... of one each
  std::vector<std::string> deepstack;  // of level 0, 1, ...; beside final embeddings alone
  RowUnit unit = RowUnit::token;
  std::vector<std::string> notes;
};

enum class Origin { ours, foreign };  // with a vtower record or without

// Throws Error{not_comparable} for a tensor or stage that is not there or is another one, and for
// a file without any known tensor; Error{out_of_range} for a gap in numbered tensors.
DumpChoice choose_tensors(const DumpSource& source, Origin origin, const DumpOptions& options);

}  // namespace vtower
