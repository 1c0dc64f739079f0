// The libraries that decide about pixels, for the record.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vtower {

// {"libjpeg-turbo", "2.1.5"}, ... as linked at run time where the library can tell, else as
// compiled against.
std::vector<std::pair<std::string, std::string>> media_library_versions();

}  // namespace vtower
