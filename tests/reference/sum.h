// Sums of Reals.
#pragma once
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
    terms_++;
  }
  Real value() const { return std::isfinite(total_) && cut_ != 0 ? total_ + cut_ : total_; }
  Real magnitude() const { return magnitude_; }
  int64_t terms() const { return terms_; }

 private:
  Real total_ = 0, cut_ = 0, magnitude_ = 0;
  int64_t terms_ = 0;
};

}  // namespace wick::reference
