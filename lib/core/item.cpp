#include "core/item.h"

namespace vtower {

std::string_view to_string(ItemKind kind) noexcept {
  switch (kind) {
    case ItemKind::image: return "image";
    case ItemKind::video: return "video";
    case ItemKind::raw: return "raw";
  }
  return "unknown";
}

}  // namespace vtower
