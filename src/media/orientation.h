// How an image lies, as its EXIF data says.
#pragma once
#include <string_view>

#include "wick/media/image.h"

namespace wick::media {

/// The orientation (1 to 8) of EXIF data: a TIFF header and its first directory, with or without
/// "Exif\0\0" before it. 1 where it has none or is damaged. Source: EXIF 2.3, tag 0x0112.
int exif_orientation(std::string_view exif);

/// The image upright. orientation: 1 to 8.
Image upright(Image image, int orientation);

}  // namespace wick::media
