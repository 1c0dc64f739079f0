// Built with -ffast-math together with lib/check/arithmetic.cpp: the check must notice.
#include "check/arithmetic.h"

int main() {
  return vtower::arithmetic_is_ieee() ? 1 : 0;
}
