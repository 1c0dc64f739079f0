#include "media/video_index.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "core/error.h"
#include "media/video_restart.h"

namespace vtower {
namespace {

std::int64_t time_of(const PacketInfo& packet) {
  return packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
}

// Whether every shown packet has a timestamp of its own.
bool distinct_timestamps(const FrameIndex& index) {
  for (std::size_t i = 0; i < index.frames.size(); ++i) {
    const std::int64_t pts = index.packets[index.frames[i]].pts;
    if (pts == AV_NOPTS_VALUE) return false;
    if (i > 0 && pts == index.packets[index.frames[i - 1]].pts) return false;
  }
  return true;
}

}  // namespace

std::optional<double> FrameIndex::mean_rate() const {
  if (!(duration_seconds > 0)) return std::nullopt;
  return static_cast<double>(frames.size()) / duration_seconds;
}

bool FrameIndex::variable_rate() const {
  double shortest = std::numeric_limits<double>::max();
  double longest = 0.0;
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    const double gap = seconds[i] - seconds[i - 1];
    shortest = std::min(shortest, gap);
    longest = std::max(longest, gap);
  }
  return longest > 1.25 * shortest && longest - shortest > 0.002;
}

std::size_t FrameIndex::restart_for(std::size_t packet) const {
  if (!by_timestamp) return 0;
  auto k = std::upper_bound(restarts.begin(), restarts.end(), packet);
  while (k != restarts.begin()) {
    --k;
    if (packets[*k].pts <= packets[packet].pts) return *k;
  }
  return 0;
}

std::optional<std::int64_t> FrameIndex::frame_at(std::int64_t pts) const {
  const auto found =
      std::lower_bound(frames.begin(), frames.end(), pts,
                       [this](std::size_t p, std::int64_t t) { return packets[p].pts < t; });
  if (found == frames.end() || packets[*found].pts != pts) return std::nullopt;
  return found - frames.begin();
}

FrameIndex scan_frames(VideoContainer& container) {
  FrameIndex index;
  const RestartFinder finder(container.codec());
  const PacketPtr packet = make_packet();
  double end = std::numeric_limits<double>::lowest();
  while (container.read(*packet)) {
    if (index.packets.size() == max_packets) {
      throw Error(ErrorKind::too_large, "video_index",
                  "more than " + std::to_string(max_packets) + " packets in one clip");
    }
    PacketInfo info;
    info.pts = packet->pts;
    info.dts = packet->dts;
    if (finder.can_restart_at(*packet)) index.restarts.push_back(index.packets.size());
    info.shown = packet->size > 0 && (packet->flags & AV_PKT_FLAG_DISCARD) == 0 &&
                 !is_hidden_frame(container.codec().codec_id, *packet);
    info.damaged = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    const std::int64_t start = time_of(info);
    if (info.shown && start != AV_NOPTS_VALUE) {
      end = std::max(end, static_cast<double>(start) +
                              static_cast<double>(std::max<std::int64_t>(packet->duration, 0)));
    }
    if (info.shown) index.frames.push_back(index.packets.size());
    index.packets.push_back(info);
  }
  if (index.frames.empty()) {
    throw Error(ErrorKind::unreadable, "video_index", "the video stream holds no frame");
  }

  std::stable_sort(index.frames.begin(), index.frames.end(), [&](std::size_t a, std::size_t b) {
    return time_of(index.packets[a]) < time_of(index.packets[b]);
  });
  index.by_timestamp = distinct_timestamps(index);

  const double tick = av_q2d(container.stream().time_base);
  const std::int64_t first = time_of(index.packets[index.frames.front()]);
  const bool timed = first != AV_NOPTS_VALUE;  // sorted: the smallest value there is
  index.start_seconds = timed ? static_cast<double>(first) * tick : 0.0;
  index.duration_seconds = timed ? (end - static_cast<double>(first)) * tick : 0.0;
  for (const std::size_t p : index.frames) {
    const auto time = static_cast<double>(time_of(index.packets[p]));
    index.seconds.push_back(timed ? (time - static_cast<double>(first)) * tick : 0.0);
  }
  return index;
}

}  // namespace vtower
