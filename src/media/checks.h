// What every function here asks of an image.
#pragma once
#include <string_view>

#include "wick/base/error.h"
#include "wick/media/image.h"

namespace wick::media {

/// Errors: kShapeMismatch unless the image is [H, W, 3] and not empty.
inline void check_image(const Image& image, std::string_view where) {
  check(image.width > 0 && image.height > 0 && image.channels == 3 &&
            image.pixels.size() % 3 == 0 && image.pixels.size() / 3 % size_t(image.width) == 0 &&
            image.pixels.size() / 3 / size_t(image.width) == size_t(image.height),
        ErrorCode::kShapeMismatch, where, "expected an image of [height, width, 3] values, got ",
        image.height, " x ", image.width, " x ", image.channels, " with ", image.pixels.size(),
        " values");
}

}  // namespace wick::media
