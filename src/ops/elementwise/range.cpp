#include "ops/elementwise/range.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "scalar/cast.h"

namespace wick {
namespace {

template <class T>
constexpr double kHighestFloat = std::numeric_limits<T>::max();
template <>
constexpr double kHighestFloat<f8e4m3> = to_float(f8e4m3{0x7e});
template <>
constexpr double kHighestFloat<f8e5m2> = to_float(f8e5m2{0x7b});
template <>
constexpr double kHighestFloat<bf16> = to_float(bf16{0x7f7f});
template <>
constexpr double kHighestFloat<f16> = to_float(f16{0x7bff});

bool holds_integer(DType dtype, Number integer) {
  if (integer.is_above_i64()) return dtype == DType::kU64;
  const int64_t number = integer.integer();
  if (dtype == DType::kBool) return number == 0 || number == 1;
  const int bits = 8 * dtype_size(dtype);
  if (!is_signed(dtype)) return number >= 0 && (bits == 64 || number < int64_t(1) << bits);
  return bits == 64 || (number >= -(int64_t(1) << (bits - 1)) && number < int64_t(1) << (bits - 1));
}

/// Whether truncation toward zero gives an integer of the dtype.
bool holds_truncated(DType dtype, double real) {
  const bool with_sign = dtype != DType::kBool && is_signed(dtype);
  const int bits = dtype == DType::kBool ? 1 : 8 * dtype_size(dtype) - with_sign;
  const double whole = std::trunc(real);  // NaN compares false
  return whole < std::ldexp(1, bits) && whole >= (with_sign ? -std::ldexp(1, bits) : 0);
}

bool holds_rounded(DType dtype, double real) {
  bool result = false;
  dispatch(dtype, StoredTypes{}, [&]<class T>() {
    const auto rounded = [](double x) { return double(convert<double>(convert<T>(x))); };
    const double limit = rounded(HUGE_VAL);  // finite if the format saturates
    if (std::isnan(real))
      result = std::isnan(rounded(real));
    else if (std::isinf(real))
      result = std::isinf(limit);
    else
      result = std::isfinite(limit) ? std::fabs(real) <= limit : std::isfinite(rounded(real));
  });
  return result;
}

std::string text_of(Number number) {
  if (number.is_above_i64()) return std::to_string(uint64_t(number.integer()));
  if (number.is_integer()) return std::to_string(number.integer());
  std::ostringstream text;
  text << number.real();
  return text.str();
}

}  // namespace

Number highest(DType dtype) {
  Number result = 1;
  dispatch(dtype, IntegerTypes{}, [&]<class T>() { result = std::numeric_limits<T>::max(); });
  dispatch(dtype, FloatTypes{}, [&]<class T>() { result = kHighestFloat<T>; });
  return result;
}
Number lowest(DType dtype) {
  Number result = 0;
  dispatch(dtype, IntegerTypes{}, [&]<class T>() { result = std::numeric_limits<T>::min(); });
  dispatch(dtype, FloatTypes{}, [&]<class T>() { result = -kHighestFloat<T>; });
  return result;
}

bool holds(DType dtype, Number number) {
  if (is_floating(dtype) || !is_computed(dtype)) return holds_rounded(dtype, number.real());
  return number.is_integer() ? holds_integer(dtype, number) : holds_truncated(dtype, number.real());
}

Number into_range(DType dtype, Number number) {
  if (holds(dtype, number)) return number;
  if (is_floating(dtype) && holds(dtype, HUGE_VAL)) return number;
  return number.real() > 0 ? highest(dtype) : lowest(dtype);
}

void check_holds(const char* op, DType dtype, Number number) {
  check(dtype == DType::kBool || holds(dtype, number), ErrorCode::kInvalidArgument, op,
        dtype_name(dtype), " cannot hold the number ", text_of(number));
}

}  // namespace wick
