// Ops that compute each element by itself: of one operand, of two, of one and a number;
// comparisons, and the choice between two.
#include <algorithm>
#include <type_traits>

#include "reference/fused.h"
#include "scalar/binary.h"
#include "scalar/compare.h"
#include "scalar/unary.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/cast.h"
#include "wick/abi/ops/create.h"
#include "wick/abi/ops/where.h"

namespace wick::conformance {
namespace {

/// What an element comes to, of one operand or two. A formula of `auto` arguments says it for
/// integers too: exactly, before they wrap. One of `Real` arguments is of floats; integers go in as
/// f32.
class Formula {
 public:
  template <class F>
  Formula(F f) {
    if constexpr (std::is_invocable_v<F, Real, Real>) {
      real_ = [f](const Real* x) { return Real(f(x[0], x[1])); };
      if constexpr (std::is_same_v<std::invoke_result_t<F, Wide, Wide>, Wide>) {
        integer_ = [f](const Wide* x) { return f(x[0], x[1]); };
      }
    } else {
      real_ = [f](const Real* x) { return Real(f(x[0])); };
      if constexpr (std::is_same_v<std::invoke_result_t<F, Wide>, Wide>) {
        integer_ = [f](const Wide* x) { return f(x[0]); };
      }
    }
  }
  bool of_integers() const { return integer_ != nullptr; }

  /// `once`: the formula is one operation, and is to be rounded once.
  Result operator()(const std::vector<Array>& operands, bool once) const {
    const bool two = operands.size() == 2;
    const DType promoted = two ? reference::promote(operands[0], operands[1]) : operands[0].dtype;
    const DType dtype = integer_ ? promoted : reference::floating(promoted);
    const HostShape shape =
        two ? reference::broadcast(operands[0].shape, operands[1].shape) : operands[0].shape;
    const Array a = reference::expand(reference::convert(operands[0], dtype), shape);
    const Array b = two ? reference::expand(reference::convert(operands[1], dtype), shape) : a;
    Result result{{dtype, shape, {}}, {}, 0};
    for (std::size_t i = 0; i < a.values.size(); i++) {
      const Real reals[] = {a.values[i], b.values[i]};
      if (!is_floating(dtype)) {
        const Wide integers[] = {Wide(reals[0]), Wide(reals[1])};
        result.array.values.push_back(reference::wrap(dtype, integer_(integers)));
      } else {
        result.array.values.push_back(once ? reference::rounded_to_odd([&] { return real_(reals); })
                                           : real_(reals));
      }
    }
    return result;
  }

 private:
  std::function<Real(const Real*)> real_;
  std::function<Wide(const Wide*)> integer_;
};

struct Extras {
  bool fused = false;
  bool differentiable = true;
  /// Small: central differences lose the digits that large values take.
  Domain grad_domain = {-3, 3};
};

struct Unary {
  Op id;
  Tensor (*function)(Tensor);
  Formula formula;
  Domain domain;
  Tolerance tolerance;
  std::optional<Edge> edge = {};
  Extras extras = {};
};

struct Binary {
  Op id;
  Tensor (*function)(Tensor, const Tensor&);
  Formula formula;
  Domain domain;
  Tolerance tolerance;
  std::optional<Edge> edge = {};
  Extras extras = {};
};

/// A binary op with a number as one operand.
struct WithNumber {
  const char* name;
  Op id;
  Tensor (*function)(Tensor);
  Formula formula;
  Domain domain;
  Tolerance tolerance;
  std::optional<Edge> edge = {};
};

constexpr auto kLarger = [](auto a, auto b) { return a != a || b != b ? a + b : (a < b ? b : a); };

constexpr auto kSmaller = [](auto a, auto b) { return a != a || b != b ? a + b : (b < a ? b : a); };

template <class T>
T product(T a, T b) {
  if constexpr (std::is_same_v<T, Real>)
    return a * b;
  else
    return reference::multiply(a, b);
}

/// An integer is its own.
template <class T, class F>
T rounded_by(T x, F f) {
  if constexpr (std::is_same_v<T, Real>)
    return f(x);
  else
    return x;
}

/// Of floats as C99 has it, of integers as SPEC 2b: by zero everything is 0.
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

// A row is a line.
// clang-format off
const std::vector<Unary> kUnary = {
    {Neg::op, neg, [](auto x) { return -x; }, {-100, 100}, exact()},
    {Exp::op, exp, [](Real x) { return std::exp(x); }, {-80, 80}, ulp(2), {}, {.grad_domain = {-2, 2}}},
    {Log::op, log, [](Real x) { return std::log(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domain = {0.5, 3}}},
    {Sqrt::op, sqrt, [](Real x) { return std::sqrt(x); }, {0, 1e4}, rounded(), {}, {.grad_domain = {0.5, 3}}},
    {Silu::op, silu, [](Real x) { return x / (1 + std::exp(-x)); }, {-20, 20}, ulp(4), edge(6, "below -64 the composite takes two exponentials"), {.fused = true}},
    {Abs::op, abs, [](auto x) { return x < 0 ? -x : x + 0; }, {-100, 100}, exact()},
    {Sign::op, sign, [](auto x) { return x != x || x == 0 ? x : decltype(x)(x > 0 ? 1 : -1); }, {-100, 100}, exact()},
    {Relu::op, relu, [](auto x) { return x < 0 ? decltype(x)(0) : x; }, {-100, 100}, exact()},
    {Recip::op, recip, [](Real x) { return 1 / x; }, {-100, 100}, rounded(), {}, {.grad_domain = {0.5, 3}}},
    {Sqr::op, sqr, [](auto x) { return product(x, x); }, {-100, 100}, rounded()},
    {Rsqrt::op, rsqrt, [](Real x) { return 1 / std::sqrt(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domain = {0.5, 3}}},
    {Exp2::op, exp2, [](Real x) { return std::exp2(x); }, {-100, 100}, ulp(2)},
    {Expm1::op, expm1, [](Real x) { return std::expm1(x); }, {-80, 80}, ulp(2), {}, {.grad_domain = {-2, 2}}},
    {Log2::op, log2, [](Real x) { return std::log2(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domain = {0.5, 3}}},
    {Log10::op, log10, [](Real x) { return std::log10(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domain = {0.5, 3}}},
    {Log1p::op, log1p, [](Real x) { return std::log1p(x); }, {-0.9, 1e3}, ulp(2), {}, {.grad_domain = {-0.5, 3}}},
    {Sin::op, sin, [](Real x) { return std::sin(x); }, {-100, 100}, ulp(2)},
    {Cos::op, cos, [](Real x) { return std::cos(x); }, {-100, 100}, ulp(2)},
    {Tan::op, tan, [](Real x) { return std::tan(x); }, {-100, 100}, ulp(2), {}, {.grad_domain = {-1, 1}}},
    {Asin::op, asin, [](Real x) { return std::asin(x); }, {-1, 1}, ulp(2), {}, {.grad_domain = {-0.9, 0.9}}},
    {Acos::op, acos, [](Real x) { return std::acos(x); }, {-1, 1}, ulp(2), {}, {.grad_domain = {-0.9, 0.9}}},
    {Atan::op, atan, [](Real x) { return std::atan(x); }, {-100, 100}, ulp(2)},
    {Sinh::op, sinh, [](Real x) { return std::sinh(x); }, {-80, 80}, ulp(2), edge(4, "above 80 from the square of an exponential")},
    {Cosh::op, cosh, [](Real x) { return std::cosh(x); }, {-80, 80}, ulp(2), edge(4, "above 80 from the square of an exponential")},
    {Tanh::op, tanh, [](Real x) { return std::tanh(x); }, {-20, 20}, ulp(2)},
    {Asinh::op, asinh, [](Real x) { return std::asinh(x); }, {-100, 100}, ulp(2)},
    {Acosh::op, acosh, [](Real x) { return std::acosh(x); }, {1, 100}, ulp(2), {}, {.grad_domain = {1.5, 3}}},
    {Atanh::op, atanh, [](Real x) { return std::atanh(x); }, {-1, 1}, ulp(2), {}, {.grad_domain = {-0.8, 0.8}}},
    {Erf::op, erf, [](Real x) { return std::erf(x); }, {-5, 5}, ulp(2)},
    {Erfc::op, erfc, [](Real x) { return std::erfc(x); }, {-5, 9}, ulp(2)},
    {Lgamma::op, lgamma, [](Real x) { return std::lgamma(x); }, {0.1, 100}, ulp(4), {}, {.grad_domain = {0.5, 3}}},
    {Trigamma::op, trigamma, reference::trigamma, {0.1, 100}, ulp(8), {}, {.differentiable = false}},
    {Sigmoid::op, sigmoid, [](Real x) { return 1 / (1 + std::exp(-x)); }, {-80, 80}, ulp(4)},
    {Gelu::op, gelu, [](Real x) { return x / 2 * std::erfc(-x * std::sqrt(Real(0.5))); }, {-4, 20}, ulp(24), edge(300, "below -4 the rounded argument of erfc counts x^2 times")},
    {GeluTanh::op, gelu_tanh, [](Real x) { return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(Real(-1))) * (x + 0.044715L * x * x * x))); }, {-4, 20}, ulp(32), edge(300, "below -4 the rounded argument of exp counts as much as it is large")},
    {Floor::op, wick::floor, [](auto x) { return rounded_by(x, [](Real r) { return std::floor(r); }); }, {-100, 100}, exact(), {}, {.differentiable = false}},
    {Ceil::op, wick::ceil, [](auto x) { return rounded_by(x, [](Real r) { return std::ceil(r); }); }, {-100, 100}, exact(), {}, {.differentiable = false}},
    {Round::op, wick::round, [](auto x) { return rounded_by(x, [](Real r) { return std::nearbyint(r); }); }, {-100, 100}, exact(), {}, {.differentiable = false}},
    {Trunc::op, wick::trunc, [](auto x) { return rounded_by(x, [](Real r) { return std::trunc(r); }); }, {-100, 100}, exact(), {}, {.differentiable = false}},
};

const std::vector<Binary> kBinary = {
    {Add::op, add, [](auto a, auto b) { return a + b; }, {-100, 100}, rounded()},
    {Sub::op, sub, [](auto a, auto b) { return a - b; }, {-100, 100}, rounded()},
    {Mul::op, mul, [](auto a, auto b) { return product(a, b); }, {-100, 100}, rounded()},
    {Div::op, div, [](Real a, Real b) { return a / b; }, {-100, 100}, rounded(), {}, {.grad_domain = {0.5, 3}}},
    {Maximum::op, maximum, kLarger, {-100, 100}, exact()},
    {Minimum::op, minimum, kSmaller, {-100, 100}, exact()},
    {Pow::op, pow, Power(), {0.1, 8}, ulp(2), {}, {.grad_domain = {0.5, 3}}},
    {Remainder::op, remainder, Floored(), {-100, 100}, ulp(1), {}, {.differentiable = false}},
    {Fmod::op, fmod, Cut(), {-100, 100}, exact(), {}, {.differentiable = false}},
    {FloorDivide::op, floor_divide, FloorQuotient(), {-100, 100}, ulp(1), {}, {.differentiable = false}},
    {Atan2::op, atan2, [](Real a, Real b) { return std::atan2(a, b); }, {-100, 100}, ulp(2), {}, {.grad_domain = {0.5, 3}}},
    {MaximumShare::op, maximum_share, share_of_larger, {-100, 100}, exact(), {}, {.differentiable = false}},
};

const std::vector<WithNumber> kWithNumber = {
    {"x+3", Add::op, [](Tensor x) { return std::move(x) + 3; }, [](auto x) { return x + 3; }, {-100, 100}, rounded()},
    {"x+2.5", Add::op, [](Tensor x) { return std::move(x) + 2.5; }, [](Real x) { return x + 2.5L; }, {-100, 100}, rounded()},
    {"3-x", Sub::op, [](Tensor x) { return 3 - x; }, [](auto x) { return 3 - x; }, {-100, 100}, rounded()},
    {"x-3", Sub::op, [](Tensor x) { return std::move(x) - 3; }, [](auto x) { return x - 3; }, {-100, 100}, rounded()},
    {"x*2.5", Mul::op, [](Tensor x) { return std::move(x) * 2.5; }, [](Real x) { return x * 2.5L; }, {-100, 100}, rounded()},
    {"x/3", Div::op, [](Tensor x) { return std::move(x) / 3; }, [](Real x) { return x / 3; }, {-100, 100}, rounded()},
    {"2.5/x", Div::op, [](Tensor x) { return 2.5 / x; }, [](Real x) { return 2.5L / x; }, {-100, 100}, rounded()},
    {"affine", Affine::op, [](Tensor x) { return affine(std::move(x), 2.5, 1); }, [](Real x) { return x * 2.5L + 1; }, {0.1, 100}, ulp(2)},
    {"elu", Elu::op, [](Tensor x) { return elu(std::move(x), 1.5); }, [](Real x) { return x < 0 ? 1.5L * std::expm1(x) : x; }, {-20, 20}, ulp(3)},
    {"leaky_relu", LeakyRelu::op, [](Tensor x) { return leaky_relu(std::move(x), 0.25); }, [](Real x) { return x < 0 ? 0.25L * x : x; }, {-100, 100}, rounded()},
    {"pow(3)", Pow::op, [](Tensor x) { return pow(std::move(x), 3); }, [](auto x) { return Power()(x, decltype(x)(3)); }, {-8, 8}, ulp(2)},
    {"pow(0.5)", Pow::op, [](Tensor x) { return pow(std::move(x), 0.5); }, [](Real x) { return std::pow(x, 0.5L); }, {0, 100}, ulp(2)},
    {"2^x", Pow::op, [](Tensor x) { return pow(2, x); }, [](auto x) { return Power()(decltype(x)(2), x); }, {-8, 8}, ulp(2)},
    {"remainder(3)", Remainder::op, [](Tensor x) { return remainder(std::move(x), 3); }, [](auto x) { return Floored()(x, decltype(x)(3)); }, {-100, 100}, ulp(1)},
    {"floor_divide(3)", FloorDivide::op, [](Tensor x) { return floor_divide(std::move(x), 3); }, [](auto x) { return FloorQuotient()(x, decltype(x)(3)); }, {-100, 100}, ulp(1)},
    {"maximum(0)", Maximum::op, [](Tensor x) { return maximum(std::move(x), 0); }, [](auto x) { return kLarger(x, decltype(x)(0)); }, {-100, 100}, exact()},
};
// clang-format on

/// Also of a dtype each: a few of those that promote.
const std::vector<std::pair<DType, DType>> kMixed = {
    {DType::kBool, DType::kI32}, {DType::kU8, DType::kI32},     {DType::kI32, DType::kU32},
    {DType::kI64, DType::kBf16}, {DType::kF16, DType::kBf16},   {DType::kF32, DType::kF64},
    {DType::kF16, DType::kI64},  {DType::kF8E4M3, DType::kF32}, {DType::kF8E4M3, DType::kF8E5M2}};

std::vector<Geometry> two_operands() {
  std::vector<Geometry> result;
  for (const HostShape& shape : kShapes) result.push_back({{shape, shape}});
  for (const auto& [a, b] : std::vector<std::pair<HostShape, HostShape>>{
           {{3, 11}, {11}},
           {{7, 1}, {1, 9}},
           {{5}, {2, 1, 5}},
           {{}, {3, 11}},
           {{3, 11}, {1}},
           {{1, 0}, {3, 1}},
           {{300, 100}, {300, 1}},
           {{2, 1, 3, 1, 2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}}) {
    result.push_back({{a, b}});
  }
  return result;
}

/// Every numeric dtype, for all operands alike.
std::vector<std::vector<DType>> numeric(std::size_t operands) {
  std::vector<std::vector<DType>> result;
  for (const DType d : kNumeric) result.emplace_back(operands, d);
  return result;
}

Row common(const Op& id, const Formula& formula, Domain domain, Tolerance tolerance,
           std::optional<Edge> at_edge, const Extras& extras) {
  Row row;
  row.op = id.name;
  row.domain = domain;
  row.tolerance = tolerance;
  row.edge = at_edge;
  row.elementwise = true;
  row.signed_zero = true;
  row.in_place = true;
  row.fused = extras.fused;
  row.grad_domain = extras.grad_domain;
  row.reference = [formula, once = tolerance.kind == Tolerance::Kind::kRounded](
                      const std::vector<Array>& x, const Case&) { return formula(x, once); };
  row.kernels = [id, of_integers = formula.of_integers()](const std::vector<DType>& dtypes) {
    DType dtype = dtypes.size() == 2 ? reference::promote(dtypes[0], dtypes[1]) : dtypes[0];
    if (!of_integers) dtype = reference::floating(dtype);
    std::vector<KernelQuestion> questions;
    for (const DType d : dtypes) {
      if (d != dtype) questions.push_back({kCast, d, dtype});
    }
    questions.push_back({id, dtype});
    return questions;
  };
  return row;
}

Row row_of(const Unary& u) {
  Row row = common(u.id, u.formula, u.domain, u.tolerance, u.edge, u.extras);
  row.run = [f = u.function](std::vector<Tensor> x, const Case&) { return f(std::move(x[0])); };
  row.dtypes = numeric(1);
  row.geometries = one_operand();
  row.bench = Geometry{{{1 << 22}}};
  if (u.extras.differentiable) row.differentiable = {0};
  return row;
}

Row row_of(const Binary& b) {
  Row row = common(b.id, b.formula, b.domain, b.tolerance, b.edge, b.extras);
  row.run = [f = b.function](std::vector<Tensor> x, const Case&) {
    return f(std::move(x[0]), x[1]);
  };
  row.dtypes = numeric(2);
  for (const auto& [lhs, rhs] : kMixed) row.dtypes.push_back({lhs, rhs});
  row.geometries = two_operands();
  row.bench = Geometry{{{1 << 22}, {1 << 22}}};
  if (b.extras.differentiable) row.differentiable = {0, 1};
  return row;
}

Row row_of(const WithNumber& w) {
  Row row = common(w.id, w.formula, w.domain, w.tolerance, w.edge, {});
  row.op = w.name;
  row.run = [f = w.function](std::vector<Tensor> x, const Case&) { return f(std::move(x[0])); };
  row.dtypes = numeric(1);
  row.geometries = one_operand();
  row.bench = Geometry{{{1 << 22}}};
  return row;
}

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
  Row row = row_of(Binary{Swiglu::op,
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
  Row row = row_of(Binary{SiluGradient::op,
                          silu_gradient,
                          [](Real, Real x) { return x; },  // of floats; the reference is below
                          {-20, 20},
                          sums(kSlopeRoundings),
                          {},
                          {.fused = true}});
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return silu_gradient_reference(x[0], x[1]);
  };
  return row;
}

// ---- comparisons, and the choice by them

struct Comparison {
  Op id;
  Tensor (*function)(const Tensor&, const Tensor&);
  bool (*holds)(Real a, Real b);
};

const std::vector<Comparison> kComparisons = {
    {Eq::op, eq, [](Real a, Real b) { return a == b; }},
    {Ne::op, ne, [](Real a, Real b) { return a != b; }},
    {Lt::op, lt, [](Real a, Real b) { return a < b; }},
    {Le::op, le, [](Real a, Real b) { return a <= b; }},
    {Gt::op, gt, [](Real a, Real b) { return a > b; }},
    {Ge::op, ge, [](Real a, Real b) { return a >= b; }},
};

Row row_of(const Comparison& comparison) {
  Row row;
  row.op = comparison.id.name;
  row.run = [f = comparison.function](std::vector<Tensor> x, const Case&) { return f(x[0], x[1]); };
  row.reference = [holds = comparison.holds](const std::vector<Array>& x, const Case&) {
    const DType dtype = reference::promote(x[0], x[1]);
    const HostShape shape = reference::broadcast(x[0].shape, x[1].shape);
    const Array a = reference::expand(reference::convert(x[0], dtype), shape);
    const Array b = reference::expand(reference::convert(x[1], dtype), shape);
    Result result{{DType::kBool, shape, {}}, {}, 0};
    for (std::size_t i = 0; i < a.values.size(); i++) {
      result.array.values.push_back(holds(a.values[i], b.values[i]));
    }
    return result;
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype, dtype});
  for (const auto& [lhs, rhs] : kMixed) row.dtypes.push_back({lhs, rhs});
  row.geometries = two_operands();
  row.domain = {-4, 4};  // of integers and narrow floats many are equal
  row.elementwise = true;
  row.bench = Geometry{{{1 << 22}, {1 << 22}}};
  row.kernels = [id = comparison.id](const std::vector<DType>& d) {
    DType dtype = reference::promote(d[0], d[1]);
    if (dtype == DType::kBool && id != Eq::op && id != Ne::op) dtype = DType::kU8;
    return std::vector<KernelQuestion>{{id, dtype}};
  };
  return row;
}

// ---- bits, and what a number is

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
    {ShiftLeft::op, shift_left,
     [](Wide a, Wide b, int bits) {
       return b < 0 || b >= bits ? 0 : reference::multiply(a, Wide(1) << int(b));
     },
     false},
    {ShiftRight::op, shift_right,
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

/// Where the quotient is between 2 and 3, so that differences cross no step.
Row smooth_row(const char* name, const Op& id) {
  const auto of = [&](const char* op) {
    return std::find_if(kBinary.begin(), kBinary.end(),
                        [&](const Binary& b) { return std::string(b.id.name) == op; });
  };
  Row row = row_of(*of(id.name));
  row.op = name;
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const Domain domain = operand == 0 ? Domain{3, 3.3} : Domain{1.15, 1.4};
    return random_array(c.dtypes[operand], c.geometry.operands[operand], domain, random);
  };
  row.dtypes = {{DType::kF64, DType::kF64}};
  row.special = false;
  row.differentiable = {0, 1};
  return row;
}

/// Between its zeros digamma is a difference of larger terms.
Row digamma_row() {
  Row row = row_of(Unary{Digamma::op, digamma, reference::digamma, {-50, 100}, condition(8), {}});
  row.reference = [formula = Formula(reference::digamma)](const std::vector<Array>& x,
                                                          const Case&) {
    Result result = formula(x, false);
    for (const Real y : result.array.values) result.magnitude.push_back(1 + std::fabs(y));
    return result;
  };
  row.differentiable = {};  // its slope is lgamma's second one, which that row checks
  return row;
}

Row bitwise_not_row() {
  Row row = row_of(Unary{BitwiseNot::op,
                         [](Tensor x) { return bitwise_not(std::move(x)); },
                         [](auto x) { return -1 - x; },
                         {-100, 100},
                         exact(),
                         {},
                         {.differentiable = false}});
  row.dtypes.clear();
  for (const DType dtype : kIntegers) row.dtypes.push_back({dtype});
  return row;
}

struct Predicate {
  Op id;
  Tensor (*function)(const Tensor&);
  bool (*holds)(Real x);
};

const std::vector<Predicate> kPredicates = {
    {IsNan::op, wick::isnan, [](Real x) { return std::isnan(x); }},
    {IsInf::op, wick::isinf, [](Real x) { return std::isinf(x); }},
    {IsFinite::op, wick::isfinite, [](Real x) { return std::isfinite(x); }},
};

Row row_of(const Predicate& predicate) {
  Row row;
  row.op = predicate.id.name;
  row.run = [f = predicate.function](std::vector<Tensor> x, const Case&) { return f(x[0]); };
  row.reference = [holds = predicate.holds](const std::vector<Array>& x, const Case&) {
    Result result{{DType::kBool, x[0].shape, {}}, {}, 0};
    for (const Real value : x[0].values) result.array.values.push_back(holds(value));
    return result;
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = one_operand();
  row.elementwise = true;
  row.bench = Geometry{{{1 << 22}}};
  row.kernels = [id = predicate.id](const std::vector<DType>& d) {
    if (!is_floating(d[0])) return std::vector<KernelQuestion>{{kFill, DType::kBool}};
    return std::vector<KernelQuestion>{{id, d[0]}};
  };
  return row;
}

Row where_row() {
  Row row;
  row.op = "where";
  row.run = [](std::vector<Tensor> x, const Case&) { return where(x[0], x[1], x[2]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::where(x[0], x[1], x[2]);
  };
  for (const DType dtype : kAll) row.dtypes.push_back({DType::kBool, dtype, dtype});
  for (const auto& [lhs, rhs] : kMixed) row.dtypes.push_back({DType::kBool, lhs, rhs});
  row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32});
  row.dtypes.push_back({DType::kI32, DType::kBf16, DType::kBf16});
  for (const HostShape& shape : kShapes) row.geometries.push_back({{shape, shape, shape}});
  row.geometries.insert(row.geometries.end(), {{{{3, 11}, {3, 11}, {11}}},
                                               {{{7, 1}, {1, 9}, {7, 9}}},
                                               {{{5}, {2, 1, 5}, {}}},
                                               {{{}, {3, 11}, {3, 1}}},
                                               {{{1, 0}, {3, 1}, {1}}},
                                               {{{300, 1}, {300, 100}, {300, 100}}},
                                               {{{2, 1, 5}, {3, 1}, {}}}});
  row.domain = {-1, 1};  // of integers, as conditions, some are 0
  row.elementwise = true;
  row.signed_zero = true;
  row.differentiable = {1, 2};
  row.bench = Geometry{{{1 << 22}, {1 << 22}, {1 << 22}}};
  row.kernels = [](const std::vector<DType>& d) {
    const DType dtype = reference::promote(d[1], d[2]);
    return std::vector<KernelQuestion>{{kWhere, dtype}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"elementwise">() {
  std::vector<Row> rows;
  for (const Unary& u : kUnary) rows.push_back(row_of(u));
  for (const Binary& b : kBinary) rows.push_back(row_of(b));
  rows.push_back(swiglu_row());
  rows.push_back(silu_gradient_row());
  for (const WithNumber& w : kWithNumber) rows.push_back(row_of(w));
  for (const Comparison& c : kComparisons) rows.push_back(row_of(c));
  for (const Bits& b : kBits) rows.push_back(row_of(b));
  rows.push_back(smooth_row("smooth remainder", Remainder::op));
  rows.push_back(smooth_row("smooth fmod", Fmod::op));
  rows.push_back(digamma_row());
  rows.push_back(bitwise_not_row());
  for (const Predicate& p : kPredicates) rows.push_back(row_of(p));
  rows.push_back(where_row());
  return rows;
}

}  // namespace wick::conformance
