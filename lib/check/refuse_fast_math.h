// Included by every source whose verdict rests on NaN, infinity, -0 or the order of a sum.
#pragma once

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || \
    defined(__NO_SIGNED_ZEROS__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "comparing needs IEEE arithmetic: with -ffast-math or a part of it NaN would pass"
#endif
