// Rows in 8 bits, as caches of keys and values hold them.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct RowsInI8 {
  Tensor codes;   // [..., D], i8
  Tensor scales;  // [..., D / 32], f16
};
/// x in codes of -127 to 127 and a scale for every 32 neighbours of a row: the largest magnitude
/// among them over 127, in f32, as Q8_0 has it.
///
/// x  [..., D]  floating, D a multiple of 32
/// Error of code times scale: half a scale, and 2^-11 of the value where f16 holds the scale as a
/// normal number. A group with a NaN or an infinity gives NaN. Nothing is differentiated.
/// Errors: kShapeMismatch, kDTypeMismatch.
WICK_API RowsInI8 quantize_i8(const Tensor& x);

/// codes times scales in a floating dtype, rounded once from f32.
///
/// codes   [..., D]       i8
/// scales  [..., D / 32]  f16
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor dequantize_i8(const Tensor& codes, const Tensor& scales, DType dtype);

}  // namespace wick
