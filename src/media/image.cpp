#include "wick/media/image.h"

#include <new>

#include "base/file.h"
#include "media/formats.h"
#include "media/orientation.h"
#include "wick/base/error.h"

namespace wick {
namespace media {

void set_size(Image& image, int64_t width, int64_t height, const std::string& where,
              int64_t max_pixels) {
  check(width > 0 && height > 0, ErrorCode::kFormat, where, "expected pixels, got an image of ",
        width, " x ", height);
  // The formats have sides below 2^32.
  check(width <= max_pixels / height, ErrorCode::kFormat, where, "expected at most ", max_pixels,
        " pixels, got ", width, " x ", height);
  image.width = width;
  image.height = height;
  image.channels = 3;
  try {
    image.pixels.resize(size_t(width) * size_t(height) * 3);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::kOutOfMemory, where, "no memory for ", width, " x ", height, " pixels");
  }
}

namespace {

struct Format {
  bool (*recognizes)(std::string_view bytes);
  Decoded (*decode)(std::string_view bytes, const std::string& where, int64_t max_pixels);
};

constexpr Format kFormats[] = {
    {[](std::string_view b) { return b.starts_with("\x89PNG\r\n\x1a\n"); }, decode_png},
    {[](std::string_view b) { return b.starts_with("\xff\xd8\xff"); }, decode_jpeg},
    {[](std::string_view b) {
       return b.size() >= 12 && b.starts_with("RIFF") && b.substr(8, 4) == "WEBP";
     },
     decode_webp},
};

}  // namespace
}  // namespace media

Image decode_image(std::string_view bytes, const std::string& where,
                   const ImageReadOptions& options) {
  check(options.max_pixels >= 1, ErrorCode::kInvalidArgument, "decode_image",
        "max_pixels must be at least 1, got ", options.max_pixels);
  for (const media::Format& format : media::kFormats) {
    if (!format.recognizes(bytes)) continue;
    media::Decoded decoded = format.decode(bytes, where, options.max_pixels);
    return media::upright(std::move(decoded.image), decoded.orientation);
  }
  fail(ErrorCode::kFormat, where, "expected a PNG, JPEG or WebP image, got ",
       bytes.empty() ? "an empty file" : "a file of another kind");
}

Image read_image(const std::string& path, const ImageReadOptions& options) {
  return decode_image(read_text_file(path), path, options);
}

}  // namespace wick
