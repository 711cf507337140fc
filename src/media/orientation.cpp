#include "media/orientation.h"

#include <cstddef>
#include <cstdint>

namespace wick::media {
namespace {

/// Numbers of a TIFF file in its byte order.
struct Tiff {
  std::string_view bytes;
  bool little = false;

  bool holds(uint64_t at, uint64_t count) const {
    return at <= bytes.size() && count <= bytes.size() - at;
  }
  uint32_t number(uint64_t at, int count) const {
    uint32_t value = 0;
    for (int i = 0; i < count; i++)
      value = value << 8 | uint8_t(bytes[size_t(at) + size_t(little ? count - 1 - i : i)]);
    return value;
  }
};

}  // namespace

int exif_orientation(std::string_view exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  while (exif.starts_with(kPrefix)) exif.remove_prefix(kPrefix.size());
  const Tiff tiff{exif, exif.starts_with("II")};
  if (!tiff.holds(0, 8) || !(tiff.little || exif.starts_with("MM")) || tiff.number(2, 2) != 42)
    return 1;
  const uint64_t directory = tiff.number(4, 4);
  if (!tiff.holds(directory, 2)) return 1;
  const uint64_t count = tiff.number(directory, 2);
  for (uint64_t i = 0; i < count; i++) {
    // Entry: tag (2 bytes), type (2), count (4), value (4).
    const uint64_t entry = directory + 2 + 12 * i;
    if (!tiff.holds(entry, 12)) return 1;
    if (tiff.number(entry, 2) != 0x0112) continue;
    const uint32_t type = tiff.number(entry + 2, 2);
    if ((type != 3 && type != 4) || tiff.number(entry + 4, 4) != 1) return 1;
    const uint32_t value = tiff.number(entry + 8, type == 3 ? 2 : 4);
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  // From 5 on rows and columns are exchanged.
  const bool exchanged = orientation >= 5;
  Image out{.width = exchanged ? image.height : image.width,
            .height = exchanged ? image.width : image.height,
            .channels = image.channels,
            .pixels = std::vector<uint8_t>(image.pixels.size())};
  // Whether x of the source runs from its last column, and y from its last row.
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  uint8_t* to = out.pixels.data();
  for (int64_t y = 0; y < out.height; y++)
    for (int64_t x = 0; x < out.width; x++) {
      int64_t column = exchanged ? y : x, row = exchanged ? x : y;
      if (from_right) column = image.width - 1 - column;
      if (from_bottom) row = image.height - 1 - row;
      const uint8_t* from = image.pixels.data() + (row * image.width + column) * image.channels;
      for (int64_t c = 0; c < image.channels; c++) *to++ = from[c];
    }
  return out;
}

}  // namespace wick::media
