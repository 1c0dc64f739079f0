// What happened to an item and what the passes did, as configs/record.schema.json has it: for the
// output's record, and for the ranks that tell each other.
#pragma once

#include <nlohmann/json.hpp>

#include "core/item.h"
#include "engine/ledger_record.h"

namespace vtower {

// Sizes and orientation of items that had a picture only.
nlohmann::ordered_json item_json(const ItemRecord& record);
// Which stages each pass ran, where and in what, and the range of the normalised pixels.
nlohmann::ordered_json ledger_json(const LedgerRecord& ledger);

// Back again: every field that is written. Throw nlohmann's exceptions and Error{peer} on what the
// functions above did not write.
ItemRecord item_record_of(const nlohmann::ordered_json& json);
LedgerRecord ledger_record_of(const nlohmann::ordered_json& json);

}  // namespace vtower
