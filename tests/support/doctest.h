// doctest, and its CHECK: LibTorch's logging header defines a macro of the same name, which aborts
// and counts nothing. Whoever is included last wins, so that header comes first, here.
#pragma once

#if __has_include(<c10/util/Logging.h>)
#include <c10/util/Logging.h>
#endif

#include <doctest/doctest.h>
