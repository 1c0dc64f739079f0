// Launch of the table look-up that normalises bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tower/kernels/element.h"

namespace vtower::kernels {

// out[i] = table[channel of i][bytes[i]], cast once. Rows hold three planes, one a channel, of
// `plane` bytes each, plane % 8 == 0; `count` bytes in all. Bounds: 64-bit offsets throughout.
cudaError_t normalize_rows(const std::uint8_t* bytes, const float* table, void* out,
                           Element element, std::int64_t count, std::int64_t plane,
                           cudaStream_t stream);

}  // namespace vtower::kernels
