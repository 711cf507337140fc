#include "bounds.h"

#include <cinttypes>
#include <cstdio>

namespace wick::conformance {
namespace {

using Kind = Tolerance::Kind;

constexpr double kWrong = std::numeric_limits<double>::infinity();

/// Stands for what is too large: one step beyond the largest, so that distances to it can be told.
/// An overflow is infinity, or NaN in a format without one, where only a number that is expected
/// tells it from a real NaN.
Real as_number(Real beyond, Real x, Real expected) {
  if (std::isnan(x)) return std::copysign(beyond, expected);
  return std::clamp(x, -beyond, beyond);
}

/// What the elements of one result have in common.
struct Scale {
  DType dtype;
  bool has_infinity;
  Real beyond;
};

Scale scale_of(DType dtype) {
  if (!is_floating(dtype)) return {dtype, false, 0};
  const Real largest = reference::largest(dtype);
  return {dtype, reference::format_of(dtype).has_infinity,
          largest + reference::ulp(dtype, largest)};
}

DType accumulator(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

struct ElementError {
  double in_tolerance;  // in its unit; infinite if no bound allows it
  double in_ulp;
};

/// `count`: of the terms that the element sums.
ElementError error_of(const Scale& scale, Real got, Real expected, Real magnitude, int64_t count,
                      const Terms& terms) {
  const Kind kind = terms.tolerance.kind;
  const DType dtype = scale.dtype;
  if (!is_floating(dtype)) {
    const double error = got == expected ? 0 : kWrong;
    return {error, error};
  }
  // NaN where a number overflowed is right in a format without infinity; else NaN meets NaN and
  // nothing else.
  if (std::isnan(expected) || (std::isnan(got) && scale.has_infinity)) {
    const double error = std::isnan(expected) && std::isnan(got) ? 0 : kWrong;
    return {error, error};
  }
  if (terms.signed_zero && got == 0 && std::signbit(got) != std::signbit(expected) &&
      reference::round_to_format(dtype, expected) == 0) {
    return {kWrong, kWrong};
  }
  const Real want = as_number(scale.beyond, expected, expected);
  const Real error = std::fabs(as_number(scale.beyond, got, expected) - want);
  const Real unit = reference::ulp(dtype, want);
  const double in_ulp = double(error / unit);
  // An infinity that is exact comes out as one.
  if (std::isinf(expected) && in_ulp != 0) return {kWrong, kWrong};
  switch (kind) {
    case Kind::kExact:
      return {error == 0 ? 0 : kWrong, in_ulp};
    case Kind::kRounded: {
      const Real rounded = reference::round_to_format(dtype, expected);
      const bool same = std::isnan(rounded) ? std::isnan(got) : got == rounded;
      return {same ? in_ulp : kWrong, in_ulp};
    }
    case Kind::kUlp:
      return {in_ulp, in_ulp};
    case Kind::kSums:
    case Kind::kCondition: {
      const DType rounds_in = kind == Kind::kSums ? accumulator(dtype) : dtype;
      // A product that underflows is off by no relative error, but by up to half a subnormal.
      const Real free = unit + Real(count) / 2 * reference::smallest_subnormal(rounds_in);
      if (error <= free) return {0, in_ulp};
      const Real u = reference::unit_roundoff(rounds_in);
      return {magnitude == 0 ? kWrong : double((error - free) / (u * magnitude)), in_ulp};
    }
  }
  return {kWrong, kWrong};
}

std::string text(const HostShape& shape) {
  return wick::to_string(Dims(std::span<const int64_t>(shape)));
}

}  // namespace

Comparison compare(const Array& got, const Result& expected, const Terms& terms) {
  Comparison result;
  const Array& want = expected.array;
  if (got.dtype != want.dtype || got.shape != want.shape) {
    result.passed = false;
    result.why = std::string("expected ") + dtype_name(want.dtype) + text(want.shape) + ", got " +
                 dtype_name(got.dtype) + text(got.shape);
    return result;
  }
  const double bound = bound_of(terms.tolerance, expected.terms);
  const Scale scale = scale_of(want.dtype);
  for (std::size_t i = 0; i < want.values.size(); i++) {
    const auto error_from = [&](const Result& result) {
      const Real magnitude = result.magnitude.empty() ? 0 : result.magnitude[i];
      return error_of(scale, got.values[i], result.array.values[i], magnitude, result.terms, terms);
    };
    ElementError error = error_from(expected);
    if (terms.or_else && error.in_tolerance > bound) error = error_from(*terms.or_else);
    const bool at_edge = terms.edge && !terms.at_edge.empty() && terms.at_edge[i];
    const double size = at_edge ? error.in_ulp : error.in_tolerance;
    double& worst = at_edge ? result.worst_at_edge : result.worst;
    if (size <= (at_edge ? terms.edge->bound : bound)) {
      worst = std::max(worst, size);
      continue;
    }
    worst = kWrong;
    if (result.passed) {
      result.first_wrong = int64_t(i);
      result.first_error = error.in_ulp;
      result.first_at_edge = at_edge;
    }
    result.passed = false;
    result.wrong++;
  }
  return result;
}

double bound_of(const Tolerance& tolerance, int64_t terms) {
  if (tolerance.per_log2_terms == 0 || terms < 1) return tolerance.bound;
  return tolerance.bound + tolerance.per_log2_terms * std::log2(double(terms));
}

std::string number(Real x) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.21Lg", x);
  return buffer;
}

std::string describe(const Tolerance& tolerance) {
  char buffer[64];
  switch (tolerance.kind) {
    case Kind::kExact:
      return "exact";
    case Kind::kRounded:
      return "rounded once";
    case Kind::kUlp:
      std::snprintf(buffer, sizeof buffer, "%g ulp", tolerance.bound);
      break;
    case Kind::kSums:
    case Kind::kCondition:
      if (tolerance.per_log2_terms == 0)
        std::snprintf(buffer, sizeof buffer, "%g u", tolerance.bound);
      else
        std::snprintf(buffer, sizeof buffer, "%g + %g log2(n) u", tolerance.bound,
                      tolerance.per_log2_terms);
      break;
  }
  return buffer;
}

}  // namespace wick::conformance
