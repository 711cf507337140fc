// The activations of linear's epilogue, for the rows of matmul and linear.
#pragma once
#include <cmath>

#include "row.h"
#include "wick/ops/matmul.h"

namespace wick::conformance {

/// An activation, and how far its rounding errors exceed those of its value, in units of 1 + log2(n) of them.
struct ActivationRow {
  Activation activation;
  Real (*of)(Real x);
  Real errors;
};
inline const ActivationRow kEpilogues[] = {
    {Activation::kNone, [](Real x) { return x; }, 0},
    {Activation::kRelu, [](Real x) { return x < 0 ? Real(0) : x; }, 0},
    {Activation::kSilu, [](Real x) { return x / (1 + std::exp(-x)); }, 2},
    {Activation::kGelu, [](Real x) { return x / 2 * std::erfc(-x * std::sqrt(Real(0.5))); }, 10},
    {Activation::kGeluTanh,
     [](Real x) {
       const Real slope = std::sqrt(2 / std::acos(Real(-1)));
       return x / (1 + std::exp(-2 * slope * (x + 0.044715L * x * x * x)));
     },
     12},
};
inline constexpr Real kMaxSlope = 1.13L;  // of an activation

/// y = f(y) + residual, with the errors of both.
inline void add_epilogue(Result& y, const ActivationRow& f, const Array* residual) {
  for (std::size_t i = 0; i < y.array.values.size(); i++) {
    Real& value = y.array.values[i];
    value = f.of(value);
    y.magnitude[i] = kMaxSlope * y.magnitude[i] + f.errors * std::fabs(value);
    if (!residual) continue;
    value += residual->values[i];
    y.magnitude[i] += std::fabs(residual->values[i]);
  }
}

}  // namespace wick::conformance
