// The placement of a tensor's elements in its storage.
#pragma once
#include "wick/core/dims.h"

namespace wick {

/// Element i is at offset + sum(i[d] * strides[d]). Strides and offset are in elements; bytes_of
/// (abi/dtype.h) converts them to bytes. Strides are >= 0; stride 0 repeats elements. For a block
/// dtype, the offset, the last size and every stride are multiples of the block size, except that
/// the last stride is 1. The stride of a dim of size 1 is ignored.
struct WICK_API Layout {
  Shape shape;
  Dims strides;
  int64_t offset = 0;

  static Layout contiguous(Shape shape);
  /// Whether strides[d] == shape[d + 1] * strides[d + 1] wherever shape[d] > 1, with last stride 1.
  /// The offset is ignored.
  bool is_contiguous() const;
  int rank() const { return shape.size(); }
  int64_t numel() const { return wick::numel(shape); }
};

/// Maps a dim in [-rank, rank) to [0, rank). Errors: kOutOfRange, naming the op.
WICK_API int normalize_dim(std::string_view op, int64_t dim, int rank);
/// The shape that both broadcast to (NumPy's rule). Errors: kShapeMismatch, naming the op.
WICK_API Shape broadcast_shapes(std::string_view op, const Shape& lhs, const Shape& rhs);
/// Computes the strides that make a tensor of this layout read as shape `target`; returns false if
/// it does not broadcast to `target`.
WICK_API bool broadcast_strides(const Layout& layout, const Shape& target, Dims* strides);
/// Computes the strides that make the same elements, in the same order, read as `shape`; returns
/// false if that requires a copy.
WICK_API bool reshape_strides(const Layout& layout, const Shape& shape, Dims* strides);

}  // namespace wick
