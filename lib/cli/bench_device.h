// The tower axis of `bench` on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/record.h"
#include "tower/vision_tower.h"

namespace vtower::cli {

// What the device reaches in this run: a square product of 8192 in the tower's dtype, and copies.
struct DeviceCeiling {
  double product_tflops = 0;
  double copy_gb_per_second = 0;    // within the device, read and written
  double upload_gb_per_second = 0;  // from pinned memory
};
DeviceCeiling device_ceiling(const Placement& placement);

// One picture of side x side pixels, eager and as a graph, in turns: time from rows on the host to
// embeddings on the device, the host's share of it, padding, and what the capture took. The ratio
// is the tower's rate to the ceiling's product.
std::vector<Json> bench_device_tower(const VisionTower& tower, std::int64_t side, int repeats,
                                     const DeviceCeiling& ceiling);

// Adds to such a row the share of its time in which the device was busy, from a traced run. To be
// called when all timing is over: what was traced once stays slower.
void add_device_work(const VisionTower& tower, Json& row);

}  // namespace vtower::cli
