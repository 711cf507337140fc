// Images, read from PNG, JPEG and WebP files.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"

namespace wick {

/// An image of 8 bits a channel in host memory.
struct Image {
  int64_t width = 0, height = 0;  // pixels
  int64_t channels = 3;           // 3: red, green, blue
  std::vector<uint8_t> pixels;    // [height, width, channels], row-major, from the top left

  bool operator==(const Image&) const = default;
};

struct ImageReadOptions {
  /// An image of more pixels (width times height) is refused before memory is taken for them.
  int64_t max_pixels = 89'478'485;
};

/// Decodes a PNG, JPEG or WebP image to RGB of 8 bits, recognized by its first bytes. The pixels
/// equal Pillow's ImageOps.exif_transpose(Image.open(...)).convert("RGB"): turned upright by the
/// EXIF orientation, alpha dropped, palettes looked up, CMYK converted without a profile, the first
/// frame of an animation. Of 16 bits a channel the high byte counts, but gray of 16 bits is clipped
/// to 255, as Pillow does.
///
/// bytes   the whole file
/// where   begins the text of errors, such as the path
/// Errors: kFormat if the bytes are of another kind, damaged or cut short, or hold more than
/// options.max_pixels; kInvalidArgument if max_pixels < 1; kOutOfMemory.
WICK_API Image decode_image(std::string_view bytes, const std::string& where,
                            const ImageReadOptions& options = {});

/// decode_image of a file. Errors: FileError if the file cannot be read; as decode_image.
WICK_API Image read_image(const std::string& path, const ImageReadOptions& options = {});

}  // namespace wick
