#include "cli/vtower_main.h"

int main(int argc, char** argv) {
  return vtower::cli::vtower_main(argc, argv);
}
