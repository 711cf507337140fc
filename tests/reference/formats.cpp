#include "formats.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace wick::reference {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

int width(DType dtype) {
  switch (dtype) {
    case DType::kF4:
      return 4;
    case DType::kF6E2M3:
    case DType::kF6E3M2:
      return 6;
    default:
      return 8 * dtype_size(dtype);
  }
}

bool has_sign(DType integer) {
  const std::string_view name = dtype_name(integer);
  return name[0] == 'i';
}

/// Bits of an exponent field: what the sign and the mantissa leave.
int exponent_bits(DType floating) { return width(floating) - format_of(floating).precision; }

/// Powers of two, looked up: rounding asks for one per element.
constexpr int kLowestPower = -1100, kHighestPower = 1100;
Real two_to(int exponent) {
  static const std::vector<Real> powers = [] {
    std::vector<Real> result;
    for (int e = kLowestPower; e <= kHighestPower; e++) result.push_back(std::ldexp(Real(1), e));
    return result;
  }();
  return powers[std::size_t(exponent - kLowestPower)];
}

template <class T>
T load(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void store(T value, void* bytes) {
  std::memcpy(bytes, &value, sizeof value);
}

std::uint64_t load_bits(DType dtype, const void* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, std::size_t(dtype_size(dtype)));  // little-endian
  return bits;
}

Real decode_float(DType dtype, std::uint64_t bits) {
  if (dtype == DType::kF8E8M0) return bits == 255 ? kNaN : two_to(int(bits) - 127);
  const Format format = format_of(dtype);
  const int mantissa_bits = format.precision - 1;
  const Real field = Real(bits % (std::uint64_t(1) << mantissa_bits));
  const std::uint64_t upper = bits >> mantissa_bits;
  const std::uint64_t fields = std::uint64_t(1) << exponent_bits(dtype);
  const Real sign = upper >= fields ? -1 : 1;
  const int exponent = int(upper % fields);
  if (exponent == 0) return sign * field * two_to(format.lowest_exponent - mantissa_bits);
  const bool top = exponent == int(fields) - 1;
  if (top && format.has_infinity) return field == 0 ? sign * kInfinity : kNaN;
  if (top && format.has_nan && field == two_to(mantissa_bits) - 1) return kNaN;
  return sign * (field + two_to(mantissa_bits)) *
         two_to(exponent - 1 + format.lowest_exponent - mantissa_bits);
}

std::uint64_t encode_float(DType dtype, Real x) {
  if (dtype == DType::kF8E8M0) return std::isnan(x) ? 255 : std::uint64_t(std::ilogb(x) + 127);
  const Format format = format_of(dtype);
  const int mantissa_bits = format.precision - 1;
  const std::uint64_t fields = std::uint64_t(1) << exponent_bits(dtype);
  const std::uint64_t sign = std::signbit(x) ? fields << mantissa_bits : 0;
  if (std::isnan(x) || (std::isinf(x) && !format.has_infinity)) {
    const std::uint64_t quiet = format.has_infinity ? std::uint64_t(1) << (mantissa_bits - 1)
                                                    : (std::uint64_t(1) << mantissa_bits) - 1;
    return sign | (fields - 1) << mantissa_bits | quiet;
  }
  if (std::isinf(x)) return sign | (fields - 1) << mantissa_bits;
  // In units of the smallest subnormal a value is its mantissa, shifted by its exponent field less
  // one.
  const Real size = std::fabs(x);
  const Real unit = ulp(dtype, size);
  const std::uint64_t mantissa = std::uint64_t(size / unit);
  const int exponent =
      size < smallest_normal(dtype) ? 0 : std::ilogb(size) - format.lowest_exponent;
  return sign | ((std::uint64_t(exponent) << mantissa_bits) + mantissa);
}

}  // namespace

Format format_of(DType floating) {
  switch (floating) {
    case DType::kF4:
      return {2, 0, 2, false, false};
    case DType::kF6E2M3:
      return {4, 0, 2, false, false};
    case DType::kF6E3M2:
      return {3, -2, 4, false, false};
    case DType::kF8E8M0:
      return {1, -127, 127, false, true};
    case DType::kF8E4M3:
      return {4, -6, 8, false, true};
    case DType::kF8E5M2:
      return {3, -14, 15, true, true};
    case DType::kBf16:
      return {8, -126, 127, true, true};
    case DType::kF16:
      return {11, -14, 15, true, true};
    case DType::kF32:
      return {24, -126, 127, true, true};
    default:
      return {53, -1022, 1023, true, true};
  }
}

Real largest(DType dtype) {
  if (dtype == DType::kBool) return 1;
  if (!is_floating(dtype)) return two_to(width(dtype) - int(has_sign(dtype))) - 1;
  if (dtype == DType::kF8E8M0) return two_to(127);
  const Format format = format_of(dtype);
  // Without an infinity the last mantissa but one is the largest: the last is NaN.
  const Real missing = format.has_infinity || !format.has_nan ? 1 : 2;
  return (two_to(format.precision) - missing) *
         two_to(format.highest_exponent - format.precision + 1);
}

Real lowest(DType dtype) {
  if (dtype == DType::kF8E8M0) return two_to(-127);
  if (is_floating(dtype)) return -largest(dtype);
  return has_sign(dtype) ? -two_to(width(dtype) - 1) : 0;
}

Real smallest_normal(DType floating) { return two_to(format_of(floating).lowest_exponent); }

Real smallest_subnormal(DType floating) {
  const Format format = format_of(floating);
  return two_to(format.lowest_exponent - format.precision + 1);
}

Real ulp(DType floating, Real x) {
  const Format format = format_of(floating);
  int exponent = format.lowest_exponent;
  if (std::isinf(x))
    exponent = format.highest_exponent;
  else if (x != 0)
    exponent = std::max(exponent, std::min(std::ilogb(x), format.highest_exponent));
  return two_to(exponent - format.precision + 1);
}

Real unit_roundoff(DType floating) { return two_to(-format_of(floating).precision); }

Real round_to_format(DType floating, Real x) {
  if (floating == DType::kF8E8M0) {
    if (!(x >= 0) || x >= two_to(127) * 1.5L) return kNaN;
    if (x < two_to(-127)) return two_to(-127);
    const Real below = two_to(std::ilogb(x));
    return x < 1.5L * below ? below : 2 * below;
  }
  if (!format_of(floating).has_nan) {  // saturates, NaN with its sign
    if (std::isnan(x) || std::fabs(x) > largest(floating))
      return std::copysign(largest(floating), x);
  }
  // The machine's own two formats, by its own one rounding.
  if (floating == DType::kF32) return float(x);
  if (floating == DType::kF64) return double(x);
  if (x == 0 || !std::isfinite(x)) {
    return std::isinf(x) && !format_of(floating).has_infinity ? kNaN : x;
  }
  // So large that its last bit is the unit of x: the sum is rounded there, ties to even.
  const Real large = ulp(floating, x) * 0x1.8p63L;
  const Real rounded = (x + large) - large;
  if (std::fabs(rounded) <= largest(floating))
    return rounded == 0 ? std::copysign(Real(0), x) : rounded;
  return format_of(floating).has_infinity ? std::copysign(kInfinity, x) : kNaN;
}

Real wrap(DType integer, Wide x) {
  if (integer == DType::kBool) return Real(x != 0);
  const int bits = width(integer);
  const Wide modulus = Wide(1) << bits;
  Wide low = x % modulus;
  if (low < 0) low += modulus;
  if (lowest(integer) < 0 && low >= modulus / 2) low -= modulus;
  return Real(low);
}

Real convert(DType from, DType to, Real x) {
  if (to == DType::kBool) return x != 0;  // NaN is not zero
  if (is_floating(to)) return round_to_format(to, x);
  if (!is_floating(from)) return wrap(to, Wide(x));
  if (std::isnan(x)) return 0;
  const Real cut = std::trunc(x);
  if (cut <= lowest(to)) return lowest(to);
  if (cut >= largest(to)) return largest(to);
  return cut == 0 ? 0 : cut;
}

Real decode(DType dtype, const void* bytes) {
  if (dtype == DType::kF32) return load<float>(bytes);
  if (dtype == DType::kF64) return load<double>(bytes);
  const std::uint64_t bits = load_bits(dtype, bytes);
  if (is_floating(dtype)) return decode_float(dtype, bits);
  return wrap(dtype, Wide(bits));
}

void encode(DType dtype, Real x, void* bytes) {
  if (dtype == DType::kF32) return store(float(x), bytes);
  if (dtype == DType::kF64) return store(double(x), bytes);
  const std::uint64_t bits = is_floating(dtype) ? encode_float(dtype, x)
                             : x < 0            ? std::uint64_t(std::int64_t(x))
                                                : std::uint64_t(x);
  std::memcpy(bytes, &bits, std::size_t(dtype_size(dtype)));  // little-endian
}

void decode(DType dtype, const unsigned char* bytes, std::span<Real> values) {
  const std::size_t size = std::size_t(dtype_size(dtype));
  if (size > 2) {
    for (std::size_t i = 0; i < values.size(); i++) values[i] = decode(dtype, bytes + i * size);
    return;
  }
  // So few patterns that a table of their values is made once.
  static std::map<DType, std::vector<Real>> tables;
  std::vector<Real>& table = tables[dtype];
  for (std::uint64_t bits = table.size(); bits < std::uint64_t(1) << 8 * size; bits++)
    table.push_back(decode(dtype, &bits));
  for (std::size_t i = 0; i < values.size(); i++)
    values[i] = table[load_bits(dtype, bytes + i * size)];
}

void encode(DType dtype, std::span<const Real> values, unsigned char* bytes) {
  const std::size_t size = std::size_t(dtype_size(dtype));
  for (std::size_t i = 0; i < values.size(); i++) encode(dtype, values[i], bytes + i * size);
}

}  // namespace wick::reference
