// Sums of Reals.
#pragma once
#include <algorithm>
#include <array>
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
    terms_++;
    if (kinds_ <= kKept &&
        std::find(kept_.begin(), kept_.begin() + kinds_, term) == kept_.begin() + kinds_) {
      if (kinds_ < kKept) kept_[std::size_t(kinds_)] = term;
      kinds_++;
    }
  }
  Real value() const { return std::isfinite(total_) && cut_ != 0 ? total_ + cut_ : total_; }
  Real magnitude() const { return magnitude_; }
  /// What a bound of 2 + log2(terms) is held against if they are added one after another: where
  /// the same few come again and again, as broadcast operands make them, their roundings do not
  /// cancel, and the error grows with the number of times.
  Real serial_magnitude() const {
    if (terms_ == 0 || kinds_ > kKept) return magnitude_;
    const Real times = Real(terms_) / Real(kinds_);
    return magnitude_ * std::max(Real(1), times / (2 + std::log2(Real(terms_))));
  }
  int64_t terms() const { return terms_; }

 private:
  static constexpr int kKept = 16;

  Real total_ = 0, cut_ = 0, magnitude_ = 0;
  int64_t terms_ = 0;
  std::array<Real, kKept> kept_ = {};  // the first terms that differ
  int kinds_ = 0;                      // how many differ; kKept + 1: more than are kept
};

}  // namespace wick::reference
