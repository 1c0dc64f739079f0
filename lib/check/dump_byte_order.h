// Whether values look like values at all. Part of reading dumps (dump.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "check/token_rows.h"

namespace vtower {

// A remark where a sample of the values is mostly denormal, or spread over the exponents in a way
// that the other byte order would undo; neither is proof, so neither is an error.
std::optional<std::string> byte_order_remark(std::span<const TokenRows> tensors);

}  // namespace vtower
