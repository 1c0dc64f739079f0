#include "media/video_decoder.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "media/video_walk.h"

namespace vtower {

const std::string& allowed_decoders() {
  static const std::string names =
      "h264,hevc,vp8,vp9,libvpx,libvpx-vp9,libdav1d,libaom-av1,mpeg4,mpeg1video,mpeg2video,mjpeg,"
      "gif,apng,png,rawvideo,msmpeg4,msmpeg4v2,msmpeg4v3,h263,flv1,prores,dnxhd,ffv1,huffyuv,"
      "ffvhuff,wmv1,wmv2,theora";
  return names;
}

std::vector<std::int64_t> decode_frames(std::span<const std::uint8_t> bytes,
                                        const FrameIndex& index,
                                        std::span<const std::int64_t> wanted,
                                        const DecodeOptions& options, const FrameSink& sink) {
  const std::vector<Stretch> stretches = plan_stretches(index, wanted, options.walk);
  std::vector<std::int64_t> damaged;
  std::exception_ptr failure;
  std::size_t failed_stretch = stretches.size();
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;

  // The failure of the earliest stretch is the one reported, whatever the threads' order was.
  const auto walk = [&] {
    std::size_t mine = next++;
    try {
      if (mine >= stretches.size()) return;
      FrameWalker walker(bytes, index, options);
      for (; mine < stretches.size(); mine = next++) {
        const std::vector<std::int64_t> bad = walker.decode(stretches[mine], sink);
        const std::lock_guard lock(mutex);
        damaged.insert(damaged.end(), bad.begin(), bad.end());
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      next = stretches.size();
      if (mine < failed_stretch) {
        failed_stretch = mine;
        failure = std::current_exception();
      }
    }
  };

  std::vector<std::thread> helpers;
  const std::size_t walkers =
      std::min(stretches.size(), static_cast<std::size_t>(std::max(options.threads, 1)));
  try {
    for (std::size_t i = 1; i < walkers; ++i) helpers.emplace_back(walk);
  } catch (const std::system_error&) {
    // No more threads to be had: those that are there do the work.
  }
  walk();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
  std::sort(damaged.begin(), damaged.end());
  return damaged;
}

}  // namespace vtower
