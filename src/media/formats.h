// One decoder for each format. bytes begin with the format's magic; the result is not turned yet.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "wick/media/image.h"

namespace wick::media {

struct Decoded {
  Image image;
  int orientation = 1;  // EXIF's, 1 to 8
};

/// Gives the image its size, and its pixels memory. Errors: kFormat if it has more pixels than
/// max_pixels; kOutOfMemory.
void set_size(Image& image, int64_t width, int64_t height, const std::string& where,
              int64_t max_pixels);

/// Errors of all: kFormat; those of set_size.
Decoded decode_png(std::string_view bytes, const std::string& where, int64_t max_pixels);
Decoded decode_jpeg(std::string_view bytes, const std::string& where, int64_t max_pixels);
Decoded decode_webp(std::string_view bytes, const std::string& where, int64_t max_pixels);

}  // namespace wick::media
