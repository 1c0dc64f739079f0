// How a report's page looks: light and dark, on paper too.
#pragma once

#include <string_view>

namespace vtower::cli {

extern const std::string_view html_style;

}  // namespace vtower::cli
