// A doctest program that runs on a GPU or skips aloud.
#define DOCTEST_CONFIG_IMPLEMENT
#include <ATen/Context.h>

#include <cstdio>

#include "support/doctest.h"

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  if (!at::hasCUDA() || at::getNumGPUs() == 0) {
    std::puts("SKIPPED: no GPU can be used here (none is present, or no CUDA parts are built)");
    return skipped;
  }
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false);
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  return doctest::Context(argc, argv).run();
}
