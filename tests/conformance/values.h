// What goes into operands: random values, and the special ones that every row meets.
#pragma once
#include <random>
#include <string_view>

#include "row.h"

namespace wick::conformance {

/// Random numbers that are the same wherever this is compiled.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t bits() { return engine_(); }
  /// Uniform in [0, 1).
  Real unit() { return Real(engine_() >> 11) * Real(0x1p-53); }
  Real uniform(Real low, Real high) { return low + (high - low) * unit(); }
  /// Uniform in [0, n).
  int64_t below(int64_t n) { return int64_t(engine_() % uint64_t(n)); }

 private:
  std::mt19937_64 engine_;
};

/// A seed from a number and a text.
uint64_t mix_seed(uint64_t seed, std::string_view text);

/// Uniform over the domain, as far as the dtype has it, rounded to the dtype.
Array random_array(DType dtype, const HostShape& shape, Domain domain, Random& random);

/// Uniform over the pieces, or a magnitude of its own for each element.
Array array_within(const GradDomain& domain, DType dtype, const HostShape& shape, Random& random);

/// The special values of a dtype. Of a float: ±0, ±inf, NaN, ± largest, smallest normal, largest
/// and smallest subnormal, ±88, ±89, ±104, ±710 and a few plain ones; of an integer: 0, ±1, the
/// lowest, the largest and what is near them.
std::vector<Real> special_values(DType dtype);

/// The special values over and over. Operand k goes on to the next one when operand k - 1 has been
/// through all of them, so that n² elements hold every pair.
Array special_array(DType dtype, const HostShape& shape, std::size_t operand, Random& random);

/// Finite values with, here and there, what a reduction must carry through: NaN, one infinity, two
/// of opposite signs, zeros of either sign, subnormals. Lines along the last dim get different
/// ones.
Array sprinkled_array(DType dtype, const HostShape& shape, Domain domain, Random& random);

/// ids in [0, limit), as far as the integer dtype has them.
Array random_ids(const HostShape& shape, int64_t limit, Random& random, DType dtype = DType::kI64);

}  // namespace wick::conformance
