// Ops of two operands, or of one and a number.
#include "scalar/binary.h"

#include <algorithm>

#include "elementwise.h"
#include "reference/fused.h"
#include "values.h"
#include "wick/ops/binary.h"
#include "wick/ops/unary.h"

namespace wick::conformance {
namespace {

constexpr auto kLarger = [](auto a, auto b) { return a != a || b != b ? a + b : (a < b ? b : a); };

constexpr auto kSmaller = [](auto a, auto b) { return a != a || b != b ? a + b : (b < a ? b : a); };

/// Floats as in C99. Integers: a power of a negative exponent is 0, except of a base of 1 or -1.
struct Power {
  Real operator()(Real a, Real b) const { return std::pow(a, b); }
  Wide operator()(Wide a, Wide b) const {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    __extension__ unsigned __int128 result = 1, base = static_cast<unsigned __int128>(a);
    for (; b > 0; b /= 2, base *= base)
      if (b % 2) result *= base;
    return Wide(result);
  }
};
struct Cut {
  Real operator()(Real a, Real b) const { return std::fmod(a, b); }
  Wide operator()(Wide a, Wide b) const { return b == 0 ? 0 : a % b; }
};
struct Floored {
  template <class T>
  T operator()(T a, T b) const {
    const T rest = Cut()(a, b);
    if (rest != 0) return (rest < 0) != (b < 0) ? rest + b : rest;
    if constexpr (std::is_same_v<T, Real>) return std::copysign(Real(0), b);
    return rest;
  }
};
struct FloorQuotient {
  Real operator()(Real a, Real b) const {
    if (b == 0) return a / b;
    const Real rest = std::fmod(a, b), whole = std::nearbyint((a - rest) / b);
    const Real y = rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole;
    return y == 0 ? Real(0) : y;
  }
  Wide operator()(Wide a, Wide b) const {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
};

/// NaN counts as larger than every number.
Real share_of_larger(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return (Real(std::isnan(a)) - Real(std::isnan(b)) + 1) / 2;
  return a > b ? 1 : a == b ? 0.5L : 0;
}

/// The quotient is between 2 and 3, or -3 and -2, so that differences cross no step.
const std::vector<GradDomain> kBetweenSteps = {either_sign(3, 3.3), either_sign(1.15, 1.4)};

// A row is a line.
// clang-format off
const std::vector<BinaryRow> kBinary = {
    {Add::op, add, [](auto a, auto b) { return a + b; }, {-100, 100}, rounded()},
    {Sub::op, sub, [](auto a, auto b) { return a - b; }, {-100, 100}, rounded()},
    {Mul::op, mul, [](auto a, auto b) { return product(a, b); }, {-100, 100}, rounded()},
    {Div::op, div, [](Real a, Real b) { return a / b; }, {-100, 100}, rounded(), {}, {.grad_domains = {{-3, 3}, either_sign(0.5, 3)}}},
    {Maximum::op, maximum, kLarger, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 1), either_sign(1.1, 3)}}},
    {Minimum::op, minimum, kSmaller, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 1), either_sign(1.1, 3)}}},
    {Pow::op, pow, Power(), {0.1, 8}, ulp(2), {}, {.grad_domains = {{0.5, 3}, {-3, 3}}}},
    {Remainder::op, remainder, Floored(), {-100, 100}, ulp(1), {}, {.grad_domains = kBetweenSteps}},
    {Fmod::op, fmod, Cut(), {-100, 100}, exact(), {}, {.grad_domains = kBetweenSteps}},
    {FloorDivide::op, floor_divide, FloorQuotient(), {-100, 100}, ulp(1), {}, {.grad_domains = kBetweenSteps}},
    {Atan2::op, atan2, [](Real a, Real b) { return std::atan2(a, b); }, {-100, 100}, ulp(2), {}, {.grad_domains = {either_sign(0.5, 3)}}},
    {MaximumShare::op, maximum_share, share_of_larger, {-100, 100}, exact(), {}, {.differentiable = false}},
};

const std::vector<WithNumberRow> kWithNumber = {
    {"x+3", Add::op, [](Tensor x) { return std::move(x) + 3; }, [](auto x) { return x + 3; }, {-100, 100}, rounded()},
    {"x+2.5", Add::op, [](Tensor x) { return std::move(x) + 2.5; }, [](Real x) { return x + 2.5L; }, {-100, 100}, rounded()},
    {"3-x", Sub::op, [](Tensor x) { return 3 - x; }, [](auto x) { return 3 - x; }, {-100, 100}, rounded()},
    {"x-3", Sub::op, [](Tensor x) { return std::move(x) - 3; }, [](auto x) { return x - 3; }, {-100, 100}, rounded()},
    {"x*2.5", Mul::op, [](Tensor x) { return std::move(x) * 2.5; }, [](Real x) { return x * 2.5L; }, {-100, 100}, rounded()},
    {"x/3", Div::op, [](Tensor x) { return std::move(x) / 3; }, [](Real x) { return x / 3; }, {-100, 100}, rounded()},
    {"2.5/x", Div::op, [](Tensor x) { return 2.5 / x; }, [](Real x) { return 2.5L / x; }, {-100, 100}, rounded(), {}, {.grad_domains = {either_sign(0.5, 3)}}},
    {"pow(3)", Pow::op, [](Tensor x) { return pow(std::move(x), 3); }, [](auto x) { return Power()(x, decltype(x)(3)); }, {-8, 8}, ulp(2)},
    {"pow(0.5)", Pow::op, [](Tensor x) { return pow(std::move(x), 0.5); }, [](Real x) { return std::pow(x, 0.5L); }, {0, 100}, ulp(2), {}, {.grad_domains = {{0.5, 3}}}},
    {"2^x", Pow::op, [](Tensor x) { return pow(2, x); }, [](auto x) { return Power()(decltype(x)(2), x); }, {-8, 8}, ulp(2)},
    {"remainder(3)", Remainder::op, [](Tensor x) { return remainder(std::move(x), 3); }, [](auto x) { return Floored()(x, decltype(x)(3)); }, {-100, 100}, ulp(1), {}, {.grad_domains = {either_sign(3.5, 5.5)}}},
    {"floor_divide(3)", FloorDivide::op, [](Tensor x) { return floor_divide(std::move(x), 3); }, [](auto x) { return FloorQuotient()(x, decltype(x)(3)); }, {-100, 100}, ulp(1), {}, {.grad_domains = {either_sign(3.5, 5.5)}}},
    {"polygamma", Polygamma::op, [](Tensor x) { return polygamma(2, std::move(x)); }, [](Real x) { return reference::polygamma(2, x); }, {0.1, 100}, ulp(12), {}, {.grad_domains = {either_sign(1.2, 1.8)}}},
    {"polygamma(7)", Polygamma::op, [](Tensor x) { return polygamma(7, std::move(x)); }, [](Real x) { return reference::polygamma(7, x); }, {0.1, 100}, ulp(22), {}, {.grad_domains = {either_sign(1.2, 1.8)}}},
    {"minimum(256)", Minimum::op, [](Tensor x) { return minimum(std::move(x), 256); }, [](auto x) { return kSmaller(x, decltype(x)(256)); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {"maximum(-256)", Maximum::op, [](Tensor x) { return maximum(std::move(x), -256); }, [](auto x) { return kLarger(x, decltype(x)(-256)); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {"maximum(0)", Maximum::op, [](Tensor x) { return maximum(std::move(x), 0); }, [](auto x) { return kLarger(x, decltype(x)(0)); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
};
// clang-format on

// ---- swiglu: what silu loses to underflow, the other operand makes larger

constexpr Real kSwigluRoundings = 8;
constexpr Real kSlopeRoundings =
    14;  // an exponential of 2 ulp in both s and 1 - s, and six operations

Result swiglu_reference(const Array& a, const Array& b) {
  Result result = Formula([](Real x, Real) { return x / (1 + std::exp(-x)); })({a, b}, false);
  const DType dtype = result.array.dtype, wide = reference::accumulator(dtype);
  const Array other = reference::expand(reference::convert(b, dtype), result.array.shape);
  const Real subnormal = reference::smallest_subnormal(wide);
  for (std::size_t i = 0; i < other.values.size(); i++) {
    Real& y = result.array.values[i];
    if (std::fabs(y) <= subnormal / 2) y = std::copysign(Real(0), y);  // times infinity: NaN
    y *= other.values[i];
    // kSwigluRoundings of these are one subnormal.
    const Real lost = subnormal / (kSwigluRoundings * reference::unit_roundoff(wide));
    result.magnitude.push_back(std::fabs(y) + lost * std::fabs(other.values[i]));
  }
  return result;
}

Row swiglu_row() {
  Row row = row_of(BinaryRow{Swiglu::op,
                             swiglu,
                             [](Real a, Real b) { return a / (1 + std::exp(-a)) * b; },
                             {-20, 20},
                             sums(kSwigluRoundings),  // silu's 4 ulp, and the product's rounding
                             {},
                             {.fused = true}});
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return swiglu_reference(x[0], x[1]);
  };
  return row;
}

Result silu_gradient_reference(const Array& gy, const Array& x) {
  const DType dtype = reference::floating(reference::promote(gy, x));
  const DType wide = reference::accumulator(dtype);
  const HostShape shape = reference::broadcast(gy.shape, x.shape);
  const Array a = reference::expand(reference::convert(gy, dtype), shape);
  const Array b = reference::expand(reference::convert(x, dtype), shape);
  const Real subnormal = reference::smallest_subnormal(wide);
  const Real lost = subnormal / (kSlopeRoundings * reference::unit_roundoff(wide));
  Result result{{dtype, shape, {}}, {}, 0};
  for (std::size_t i = 0; i < a.values.size(); i++) {
    const Real at = b.values[i];
    Real s = 1 / (1 + std::exp(-at));
    if (s <= subnormal / 2) s = 0;  // times infinity: NaN
    const Real rest = 1 / (1 + std::exp(at));
    result.array.values.push_back(a.values[i] * (s * (1 + at * rest)));
    result.magnitude.push_back(std::fabs(a.values[i]) * (s + lost) * (1 + std::fabs(at) * rest));
  }
  return result;
}

Row silu_gradient_row() {
  Row row = row_of(BinaryRow{SiluGradient::op,
                             silu_gradient,
                             [](Real, Real x) { return x; },  // of floats; the reference is below
                             {-20, 20},
                             sums(kSlopeRoundings),
                             {},
                             {.fused = true}});
  row.loose = kHoldsOnCards;
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return silu_gradient_reference(x[0], x[1]);
  };
  return row;
}

// ---- bits

struct Bits {
  Op id;
  Tensor (*function)(Tensor, const Tensor&);
  Wide (*formula)(Wide a, Wide b, int bits);
  bool of_bool;
};

const std::vector<Bits> kBits = {
    {BitwiseAnd::op, bitwise_and, [](Wide a, Wide b, int) { return a & b; }, true},
    {BitwiseOr::op, bitwise_or, [](Wide a, Wide b, int) { return a | b; }, true},
    {BitwiseXor::op, bitwise_xor, [](Wide a, Wide b, int) { return a ^ b; }, true},
    {BitwiseLeftShift::op, bitwise_left_shift,
     [](Wide a, Wide b, int bits) {
       return b < 0 || b >= bits ? 0 : reference::multiply(a, Wide(1) << int(b));
     },
     false},
    {BitwiseRightShift::op, bitwise_right_shift,
     [](Wide a, Wide b, int bits) { return a >> (b < 0 || b >= bits ? 100 : int(b)); }, false},
};

Row row_of(const Bits& bits) {
  Row row;
  row.op = bits.id.name;
  row.run = [f = bits.function](std::vector<Tensor> x, const Case&) {
    return f(std::move(x[0]), x[1]);
  };
  row.reference = [f = bits.formula](const std::vector<Array>& x, const Case&) {
    const DType dtype = reference::promote(x[0], x[1]);
    const HostShape shape = reference::broadcast(x[0].shape, x[1].shape);
    const Array a = reference::expand(reference::convert(x[0], dtype), shape);
    const Array b = reference::expand(reference::convert(x[1], dtype), shape);
    Result result{{dtype, shape, {}}, {}, 0};
    for (std::size_t i = 0; i < a.values.size(); i++) {
      const Wide y = f(Wide(a.values[i]), Wide(b.values[i]), 8 * dtype_size(dtype));
      result.array.values.push_back(reference::wrap(dtype, y));
    }
    return result;
  };
  row.loop = "bits";
  for (const DType dtype : kIntegers) row.dtypes.push_back({dtype, dtype});
  if (bits.of_bool) row.dtypes.push_back({DType::kBool, DType::kBool});
  row.dtypes.push_back({DType::kU8, DType::kI32});
  row.dtypes.push_back({DType::kI16, DType::kU16});
  row.geometries = two_operands();
  row.domain = {-20, 20};
  row.elementwise = true;
  row.in_place = true;
  row.bench = Geometry{{{1 << 22}, {1 << 22}}};
  row.kernels = [id = bits.id](const std::vector<DType>& d) {
    const DType dtype = reference::promote(d[0], d[1]);
    return std::vector<KernelQuestion>{{id, dtype}};
  };
  return row;
}

// ---- arithmetic of bool with bool, which is logic

struct Logic {
  const char* name;
  Op id;
  Tensor (*function)(Tensor, const Tensor&);
  bool either;  // else both
};

const std::vector<Logic> kLogic = {
    {"add_of_bool", BitwiseOr::op, add, true},
    {"mul_of_bool", BitwiseAnd::op, mul, false},
    {"maximum_of_bool", BitwiseOr::op, maximum, true},
    {"minimum_of_bool", BitwiseAnd::op, minimum, false},
};

Row row_of(const Logic& logic) {
  Row row;
  row.op = logic.name;
  row.run = [f = logic.function](std::vector<Tensor> x, const Case&) {
    return f(std::move(x[0]), x[1]);
  };
  row.reference = [either = logic.either](const std::vector<Array>& x, const Case&) {
    const HostShape shape = reference::broadcast(x[0].shape, x[1].shape);
    const Array a = reference::expand(x[0], shape), b = reference::expand(x[1], shape);
    Result result{{DType::kBool, shape, {}}, {}, 0};
    for (std::size_t i = 0; i < a.values.size(); i++) {
      const bool first = a.values[i] != 0, second = b.values[i] != 0;
      result.array.values.push_back(Real(either ? first || second : first && second));
    }
    return result;
  };
  row.dtypes = {{DType::kBool, DType::kBool}};
  row.geometries = two_operands();
  row.elementwise = true;
  row.kernels = [id = logic.id](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{id, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"binary">() {
  std::vector<Row> rows;
  for (const BinaryRow& b : kBinary) rows.push_back(row_of(b));
  rows.push_back(swiglu_row());
  rows.push_back(silu_gradient_row());
  for (const WithNumberRow& w : kWithNumber) rows.push_back(row_of(w));
  for (const Bits& b : kBits) rows.push_back(row_of(b));
  for (const Logic& l : kLogic) rows.push_back(row_of(l));
  return rows;
}

}  // namespace wick::conformance
