#include "cli/vtower_diff_main.h"

int main(int argc, char** argv) {
  return vtower::cli::vtower_diff_main(argc, argv);
}
