#include "engine/load_items.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

namespace vtower {

std::vector<LoadResult> load_items(const ItemSource& source, std::span<const std::size_t> items,
                                   int threads,
                                   const std::function<void(std::size_t done)>& on_loaded) {
  std::vector<std::optional<LoadResult>> slots(items.size());
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex reporting;
  const auto work = [&] {
    for (std::size_t i = next++; i < slots.size(); i = next++) {
      slots[i].emplace(source.load(items[i]));
      const std::scoped_lock lock(reporting);
      ++done;
      if (on_loaded) on_loaded(done);
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min(static_cast<std::size_t>(threads), slots.size());
    for (std::size_t t = 1; t < wanted; ++t) others.emplace_back(work);
    work();
  }
  std::vector<LoadResult> loaded;
  loaded.reserve(slots.size());
  for (std::optional<LoadResult>& slot : slots) loaded.push_back(std::move(*slot));
  return loaded;
}

std::vector<LoadResult> load_items(const ItemSource& source, int threads,
                                   const std::function<void(std::size_t done)>& on_loaded) {
  std::vector<std::size_t> all(source.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return load_items(source, all, threads, on_loaded);
}

}  // namespace vtower
