#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/kernel_times.h"
#include "core/error.h"

namespace vtower::cli {
namespace {

using Interval = std::pair<std::uint64_t, std::uint64_t>;  // ns

// CUPTI's callbacks carry no pointer of ours.
struct Records {
  std::mutex mutex;
  std::vector<Interval> intervals;
};
Records& records() {
  static Records all;
  return all;
}

void check(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  throw Error(ErrorKind::mode_unavailable, "cupti",
              std::string(call) + ": " + (text != nullptr ? text : "failed"));
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *size = std::size_t{4} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most_records = 0;
}

template <typename Activity>
void keep(const CUpti_Activity* record) {
  const auto* activity = reinterpret_cast<const Activity*>(record);
  records().intervals.emplace_back(activity->start, activity->end);
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::scoped_lock lock(records().mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: keep<CUpti_ActivityKernel10>(record); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY: keep<CUpti_ActivityMemcpy6>(record); break;
      case CUPTI_ACTIVITY_KIND_MEMSET: keep<CUpti_ActivityMemset4>(record); break;
      default: break;
    }
  }
  std::free(buffer);
}

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

DeviceWork sum_up(std::vector<Interval> intervals) {
  DeviceWork work;
  if (intervals.empty()) return work;
  std::sort(intervals.begin(), intervals.end());
  std::uint64_t busy = 0;
  std::uint64_t end = intervals.front().first;
  for (const auto& [from, to] : intervals) {
    busy += std::max(end, to) - std::max(end, from);
    end = std::max(end, to);
  }
  work.launches = static_cast<std::int64_t>(intervals.size());
  work.busy_seconds = static_cast<double>(busy) * 1e-9;
  return work;
}

}  // namespace

DeviceWork trace_device(const std::function<void()>& call) {
  check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
  for (const CUpti_ActivityKind kind : kinds)
    check(cuptiActivityEnable(kind), "cuptiActivityEnable");
  call();
  check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  for (const CUpti_ActivityKind kind : kinds) cuptiActivityDisable(kind);
  const std::scoped_lock lock(records().mutex);
  return sum_up(std::exchange(records().intervals, {}));
}

}  // namespace vtower::cli
