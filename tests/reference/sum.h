// Sums of Reals.
#pragma once
#include <algorithm>
#include <cmath>

#include "ops.h"

namespace wick::reference {

/// A running sum that carries what each addition cut (Neumaier 1974): good to the last bits of a
/// Real for any length.
class Sum {
 public:
  void add(Real term) {
    const Real total = total_ + term;
    if (std::isfinite(total)) {
      cut_ +=
          std::fabs(total_) >= std::fabs(term) ? (total_ - total) + term : (term - total) + total_;
    }
    total_ = total;
    magnitude_ += std::fabs(term);
    if (terms_++ == 0) first_ = term;
    alike_ = alike_ && term == first_;
  }
  Real value() const { return std::isfinite(total_) && cut_ != 0 ? total_ + cut_ : total_; }
  Real magnitude() const { return magnitude_; }
  /// What a bound of 2 + log2(terms) is held against if they are added one after another: where
  /// they are all alike the roundings do not cancel, and the error grows with their number.
  Real serial_magnitude() const {
    const Real n = Real(terms_);
    return alike_ && terms_ > 1 ? magnitude_ * std::max(Real(1), n / (2 + std::log2(n)))
                                : magnitude_;
  }
  int64_t terms() const { return terms_; }

 private:
  Real total_ = 0, cut_ = 0, magnitude_ = 0, first_ = 0;
  bool alike_ = true;
  int64_t terms_ = 0;
};

}  // namespace wick::reference
