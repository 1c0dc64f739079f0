// The entry point of vtower-diff: `diff` and `inspect DUMP` alone, without LibTorch.
#pragma once

namespace vtower::cli {

int vtower_diff_main(int argc, char** argv);

}  // namespace vtower::cli
