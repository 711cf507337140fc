// Block formats, decoded and quantized naively, from the description of their layouts in ggml.
#pragma once
#include "array.h"

namespace wick::reference {

/// A floating-point number in a block.
struct ScaleField {
  int byte;  // that it begins at
  DType dtype;
  bool in_quarters = false;  // 4 bits in the upper half of every other byte, the lowest first
};
std::vector<ScaleField> scale_fields(DType block);
/// The elements of blocks, rounded to f32 where they have an offset. bytes: u8 [..., bytes of a row's
/// blocks]. Gives f32 [..., elements].
Array dequantize(DType block, const Array& bytes);
/// The inverse of a row by ggml's reference rounding, in f32: f32 [..., K] as u8 [..., bytes].
Array quantize(DType block, const Array& x);

}  // namespace wick::reference
