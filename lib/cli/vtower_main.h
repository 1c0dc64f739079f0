// The program `vtower`.
#pragma once

namespace vtower::cli {

// Parses the command line, runs one verb, prints, and returns the exit code. Never throws.
int vtower_main(int argc, char** argv);

}  // namespace vtower::cli
