// 4:4:0 JPEG (chroma of full width and half height) as libjpeg-turbo 2.0 shows it.
//
// torchvision 0.26 carries libjpeg-turbo 2.0.0, whose vertical interpolation rounds every other
// line differently from 2.1 and later: (3 * near + far + 1) / 4 on both lines of a pair, where the
// later ones add 2 on the lower line. All other samplings are equal in these versions.
#pragma once

#include "media/image_decoder.h"
#include "media/jpeg_session.h"

namespace vtower {

// Whether any chroma component has full width and half height.
bool has_half_height_chroma(const jpeg_decompress_struct& info) noexcept;

// Whether that is all there is to it: YCbCr, both chroma components alike.
bool is_plain_half_height(const jpeg_decompress_struct& info) noexcept;

// Decodes such a picture, its header read, to `sink`; leaves the session before its finish.
void decode_half_height(JpegSession& session, const LineSink& sink);

}  // namespace vtower
