// The two programs of `vtower`.
#pragma once

namespace vtower::cli {

// `vtower`: answers --help, --version and usage errors at once, without LibTorch, and hands
// everything else to `vtower-run` beside it, whose process this one becomes.
int vtower_main(int argc, char** argv);

// `vtower-run`: runs the verb, prints, and returns the exit code. Never throws.
int vtower_run_main(int argc, char** argv);

}  // namespace vtower::cli
