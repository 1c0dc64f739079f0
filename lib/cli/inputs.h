// From the INPUT arguments of a command line to a list of files.
#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

namespace vtower::cli {

enum class ListSeparator { newline, nul };  // nul: -0

// Files are taken as they are (whether they can be read shows later, item by item), folders are
// walked in order of name for files with the name of a medium or a dump, globs are expanded in
// order of name, `@list.txt` and `-` (standard input, `stdin_list`) hold one path per line or
// NUL. Throws Error{unreadable} for a folder without media, a glob without a match, an empty or
// unreadable list; Error{usage} when nothing was given or `-` is given twice.
std::vector<std::filesystem::path> expand_inputs(const std::vector<std::string>& arguments,
                                                 ListSeparator separator, std::istream& stdin_list);

}  // namespace vtower::cli
