// Element types as kernels see them.
#pragma once

namespace vtower::kernels {

enum class Element { f32, bf16, f16 };

}  // namespace vtower::kernels
