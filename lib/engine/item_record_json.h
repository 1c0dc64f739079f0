// Item records between ranks: every field, as it is.
#pragma once

#include <nlohmann/json.hpp>

#include "core/item.h"

namespace vtower {

nlohmann::json to_json(const ItemRecord& record);
// Throws nlohmann's exceptions on what to_json() did not write.
ItemRecord item_record_of(const nlohmann::json& json);

}  // namespace vtower
