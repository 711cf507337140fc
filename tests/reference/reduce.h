// Reductions and statistics, naively. As in ops.h; `magnitude` is what errors of one rounding in
// the accumulator's dtype are multiplied by on their way to the result.
#pragma once
#include "ops.h"

namespace wick::reference {

/// f of the elements that become one, in row-major order.
Result reduce(const Array& x, const Reduction& reduction, DType dtype,
              const std::function<Real(const std::vector<Real>&)>& f);

Result min(const Array& x, const Reduction& reduction);
/// `terms` counts the factors, and so does the magnitude.
Result prod(const Array& x, const Reduction& reduction);
Result any(const Array& x, const Reduction& reduction);
Result all(const Array& x, const Reduction& reduction);
/// The place along one dim, or in all of x seen flat.
Result argmax(const Array& x, const Reduction& reduction);
Result argmin(const Array& x, const Reduction& reduction);

Result var(const Array& x, const Reduction& reduction, Real correction);
Result stddev(const Array& x, const Reduction& reduction, Real correction);
Result logsumexp(const Array& x, const Reduction& reduction);
Result norm(const Array& x, Real p, const Reduction& reduction);
Result sum_of_squares(const Array& x, const Reduction& reduction);
Result count_nonzero(const Array& x, const Reduction& reduction);
Result nansum(const Array& x, const Reduction& reduction);
Result nanmean(const Array& x, const Reduction& reduction);

}  // namespace wick::reference
