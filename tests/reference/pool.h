// Pooling over x [N, C, H, W], by lists of what each window has.
#pragma once
#include "ops.h"

namespace wick::reference {

/// A window along one dim: the elements of x that it has, and how many count in a mean.
struct Window {
  std::vector<int64_t> elements;
  int64_t counted = 0;
};
using Windows = std::vector<Window>;

struct Pooling {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool ceil_mode = false, count_padding = true;
};
Windows windows_along(int64_t size, const Pooling& p);
Windows adaptive_windows(int64_t size, int64_t count);

struct MaxPooled {
  Result values, indices;
};
/// NaN wins; of equals the first in row-major order.
MaxPooled max_pool(const Array& x, const Windows& rows, const Windows& columns);
/// The sum over `divisor`, of 0 over the number of counted elements.
Result avg_pool(const Array& x, const Windows& rows, const Windows& columns, int64_t divisor);
/// The root of the sum of powers, scaled from counted elements to `whole`. `magnitude` is the whole
/// bound in u.
Result lp_pool(const Array& x, const Windows& rows, const Windows& columns, Real power,
               int64_t whole);
/// Zeros with x at the indices, in planes of the given size.
Result max_unpool(const Array& x, const Array& indices, const Shape& size);

}  // namespace wick::reference
