// Images that Python gives.
#pragma once
#include <nanobind/nanobind.h>

#include <vector>

#include "wick/media/image.h"

namespace wick::python {

/// One image, or a list or tuple of them: each a path, the bytes of a file, or pixels u8 [H, W, 3]
/// as a Tensor or an array. Errors: as of read_image; kDTypeMismatch; kShapeMismatch.
std::vector<Image> images_of(nanobind::handle images);

}  // namespace wick::python
