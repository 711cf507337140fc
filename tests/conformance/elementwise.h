// What the tables of elementwise ops share: an op's meaning as a formula, and the rows made of it.
#pragma once
#include <type_traits>

#include "shapes.h"

namespace wick::conformance {

/// What an element comes to, of one operand or two. A formula of `auto` arguments says it for
/// integers too: exactly, before they wrap. A formula of `Real` arguments is of floats; integers go
/// in as f32.
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
  Result operator()(const std::vector<Array>& operands, bool once) const;

 private:
  std::function<Real(const Real*)> real_;
  std::function<Wide(const Wide*)> integer_;
};

/// What few ops of a table have otherwise than the rest.
struct Extras {
  bool fused = false;
  bool differentiable = true;
  std::vector<GradDomain> grad_domains = {{-3, 3}};
};

/// An op of one operand.
struct UnaryRow {
  Op id;
  Tensor (*function)(Tensor);
  Formula formula;
  Domain domain;
  Tolerance tolerance;
  std::optional<Edge> edge = {};
  Extras extras = {};
};

/// An op of two operands.
struct BinaryRow {
  Op id;
  Tensor (*function)(Tensor, const Tensor&);
  Formula formula;
  Domain domain;
  Tolerance tolerance;
  std::optional<Edge> edge = {};
  Extras extras = {};
};

/// An op of one operand and a number, which the function holds.
struct WithNumberRow {
  const char* name;
  Op id;
  Tensor (*function)(Tensor);
  Formula formula;
  Domain domain;
  Tolerance tolerance;
  std::optional<Edge> edge = {};
  Extras extras = {};
};

Row row_of(const UnaryRow& u);
Row row_of(const BinaryRow& b);
Row row_of(const WithNumberRow& w);

/// Pairs of dtypes that promote, which rows of two operands run beside the pairs of one dtype: a
/// few of them all.
inline const std::vector<std::pair<DType, DType>> kMixed = {
    {DType::kBool, DType::kI32}, {DType::kU8, DType::kI32},     {DType::kI32, DType::kU32},
    {DType::kI64, DType::kBf16}, {DType::kF16, DType::kBf16},   {DType::kF32, DType::kF64},
    {DType::kF16, DType::kI64},  {DType::kF8E4M3, DType::kF32}, {DType::kF8E4M3, DType::kF8E5M2}};

/// Shapes of two operands: pairs of equal ones, and pairs that broadcast.
std::vector<Geometry> two_operands();

/// The product a b; of integers the exact one, before it wraps.
template <class T>
T product(T a, T b) {
  if constexpr (std::is_same_v<T, Real>)
    return a * b;
  else
    return reference::multiply(a, b);
}

}  // namespace wick::conformance
