// Whether the arithmetic that comparisons rest on is IEEE 754's.
#pragma once

namespace vtower {

// False where the compiler was allowed to assume that there is no NaN, infinity or -0 or to reorder
// sums (-ffast-math and its parts), or where this thread's processor takes denormal numbers for 0
// (a library built with -ffast-math can set that for the whole process).
bool arithmetic_is_ieee() noexcept;

}  // namespace vtower
