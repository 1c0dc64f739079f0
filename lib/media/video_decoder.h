// Decoding chosen frames of a clip, from the start or from restart points, with what was damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "media/video_index.h"

namespace vtower {

// Names of the libav decoders that may be opened, separated by commas.
const std::string& allowed_decoders();

// How frames are reached; the frames are the same, bit for bit.
enum class Walk { sequential, seeking };

struct DecodeOptions {
  Walk walk = Walk::seeking;
  int threads = 1;              // walkers over separate stretches of the clip
  std::int64_t max_pixels = 0;  // larger frames are refused by the decoder itself
};

// Takes frame `index`. With threads > 1 it is called from several threads at once, for different
// frames. The AVFrame is only valid during the call.
using FrameSink = std::function<void(std::int64_t index, const AVFrame& frame)>;

// Decodes the frames `wanted` (ascending, without repeats) of the clip in `bytes`, whose index is
// `index`, and hands them to `sink`. Returns those that are damaged: the decoder or the container
// reported an error in them or in a frame that they may be predicted from, or they never came out.
// Damage that libavcodec does not notice (wrong data behind an intact H.265 slice header) is not
// noticed here either. As damage may come to light late, what `sink` got is only good when nothing
// is returned. Each packet is decoded at most once per stretch between restart points. Throws
// Error: unsupported (no decoder; frame size differs from the header or changes), too_large,
// truncated; what `sink` throws.
std::vector<std::int64_t> decode_frames(std::span<const std::uint8_t> bytes,
                                        const FrameIndex& index,
                                        std::span<const std::int64_t> wanted,
                                        const DecodeOptions& options, const FrameSink& sink);

}  // namespace vtower
