// The output of `encode`.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/encode_items.h"

namespace vtower::cli {

// Writes `embeddings` [sum of tokens, dim], `cu_tokens` int64 [n + 1], `grid_thw` int64 [n, 3],
// `deepstack.J`, and the stages that the items carry, in the run's dtype. Appears complete or not
// at all. All items must come from one tower.
void write_embeddings(const std::filesystem::path& path, std::span<const EncodedItem* const> items,
                      const std::map<std::string, std::string>& metadata);

}  // namespace vtower::cli
