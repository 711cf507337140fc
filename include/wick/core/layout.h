// Where a tensor's elements stand in its storage.
#pragma once
#include "wick/core/dims.h"

namespace wick {

/// Element i is at offset + sum(i[d] * strides[d]). Strides and offset are in elements, of which
/// bytes_of (abi/dtype.h) makes bytes; strides are >= 0, 0 repeats. Of a block dtype all are of
/// whole blocks, but for the last stride, which is 1; what the stride of a dim of size 1 is does
/// not matter.
struct WICK_API Layout {
  Shape shape;
  Dims strides;
  int64_t offset = 0;

  static Layout contiguous(Shape shape);
  /// strides[d] == shape[d + 1] * strides[d + 1] wherever shape[d] > 1, the last 1. The offset does
  /// not matter.
  bool is_contiguous() const;
  int rank() const { return shape.size(); }
  int64_t numel() const { return wick::numel(shape); }
};

/// dim in [-rank, rank) as one in [0, rank). Errors: kOutOfRange, which names the op.
WICK_API int normalize_dim(std::string_view op, int64_t dim, int rank);
/// The shape that both broadcast to (NumPy's rule). Errors: kShapeMismatch, which names the op.
WICK_API Shape broadcast_shapes(std::string_view op, const Shape& lhs, const Shape& rhs);
/// The strides with which a tensor of this layout reads as target; false if it does not broadcast
/// to it.
WICK_API bool broadcast_strides(const Layout& layout, const Shape& target, Dims* strides);
/// The strides with which the same elements in the same order read as `shape`; false if only a copy
/// can.
WICK_API bool reshape_strides(const Layout& layout, const Shape& shape, Dims* strides);

}  // namespace wick
