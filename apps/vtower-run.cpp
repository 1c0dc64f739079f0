#include "cli/vtower_main.h"

int main(int argc, char** argv) {
  return vtower::cli::vtower_run_main(argc, argv);
}
