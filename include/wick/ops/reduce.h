// Many elements to one. dims in [-rank, rank), of a tensor without dims 0 or -1; none given: all.
// f16, bf16 and f8 accumulate in f32, integers in i64; the order is fixed by device and shape, so
// the same inputs give the same bits. Errors of all: kOutOfRange and kInvalidArgument for dims that
// are not there or come twice.
#pragma once
#include <optional>

#include "wick/core/tensor.h"

namespace wick {

struct ReduceOptions {
  Dims dims = {};        // none: all
  bool keepdim = false;  // reduced dims stay, of size 1
};

/// What was chosen along a dim, and at which places: ids of i64.
struct ValuesIndices {
  Tensor values;
  Tensor indices;
};

/// The sum; of integers and bool as i64, u64 of u64; 0 of nothing. Error: |e| <= 4 u sum|x| + 1 ulp
/// of the output dtype, u of the accumulator; of n like elements, whose roundings do not cancel,
/// n / (2 + log2 n) times that.
WICK_API Tensor sum(const Tensor& x, const ReduceOptions& options = {});
/// The mean; integers compute in f32; NaN of nothing. Error: as sum of x / n.
WICK_API Tensor mean(const Tensor& x, const ReduceOptions& options = {});
/// @name Extremes
/// NaN wins. Exact. Errors: kInvalidArgument of nothing.
/// @{

/// The largest element. With one dim named the gradient goes to the first winner, else it is shared
/// evenly by ties.
WICK_API Tensor max(const Tensor& x, const ReduceOptions& options = {});
/// The smallest element; its gradient as max's.
WICK_API Tensor min(const Tensor& x, const ReduceOptions& options = {});
/// The largest element; its gradient is shared evenly by ties.
WICK_API Tensor amax(const Tensor& x, const ReduceOptions& options = {});
/// The smallest element; its gradient is shared evenly by ties.
WICK_API Tensor amin(const Tensor& x, const ReduceOptions& options = {});

/// @}

/// The product; of integers and bool as i64, u64 of u64, wrapping; 1 of nothing. Error: |e| <= n u
/// |y| + 1 ulp of the output dtype for n factors whose partial products stay in the accumulator's
/// range, u of that. Its gradient is right where factors are 0.
WICK_API Tensor prod(const Tensor& x, const ReduceOptions& options = {});
/// Whether some element is not 0: bool. NaN is not 0. Of nothing: false.
WICK_API Tensor any(const Tensor& x, const ReduceOptions& options = {});
/// Whether every element is not 0: bool. NaN is not 0. Of nothing: true.
WICK_API Tensor all(const Tensor& x, const ReduceOptions& options = {});

/// @name Places of extremes
/// Along dim, or in all of x seen flat: i64. The first of equals; NaN goes before every number.
/// Errors: kInvalidArgument of nothing.
/// @{

/// The place of the largest element.
WICK_API Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// The place of the smallest element.
WICK_API Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// What max and argmax give, together.
WICK_API ValuesIndices max_with_indices(const Tensor& x, int64_t dim, bool keepdim = false);
/// What min and argmin give, together.
WICK_API ValuesIndices min_with_indices(const Tensor& x, int64_t dim, bool keepdim = false);

/// @}

}  // namespace wick
