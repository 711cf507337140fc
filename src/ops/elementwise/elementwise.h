// The table rows that define elementwise ops, and the functions that run them.
#pragma once
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/tape/tape.h"
#include "wick/ops/create.h"

namespace wick {

/// The operand dtypes an op accepts, and how it converts others.
enum class DTypeRule {
  kFloats,    // integers and bool compute in f32
  kNumbers,   // integers unchanged, bool as i64
  kBits,      // integers and bool unchanged, floats are an error
  kIntegers,  // bool as i64, floats are an error
};

/// An op on one operand: a row of the table in unary.cpp.
struct UnarySemantics {
  Op op;
  DTypeRule rule;
  unsigned keep;
  Tensor (*gradient)(const Tensor& gy, const RuleContext& c);
  Tensor (*composite)(const Tensor& x) = nullptr;  // definition in smaller ops, if there is one
};

/// An op on two operands: a row of the table in binary.cpp.
struct BinarySemantics {
  Op op;
  DTypeRule rule;
  unsigned keep;
  /// The gradient of operand `side`, before it is summed to the operand's shape. nullptr: the
  /// result is a constant, off the tape.
  Tensor (*gradient)(const Tensor& gy, const RuleContext& c, int side);
  Tensor (*composite)(const Tensor& a, const Tensor& b) = nullptr;
};

Tensor run_unary(const UnarySemantics& m, Tensor x);
/// dtype: the dtype that both operands promote to.
Tensor run_binary(const BinarySemantics& m, Tensor a, const Tensor& b, DType dtype);
Tensor run_binary(const BinarySemantics& m, Tensor a, const Tensor& b);
Tensor run_binary(const BinarySemantics& m, Tensor a, Number b);

/// The rules in the tables' rows, for the ops of scalar/unary.h's Unary and scalar/binary.h's Binary.
DTypeRule unary_dtype_rule(const Op& op);
DTypeRule binary_dtype_rule(const Op& op);

/// The dtype to which an op converts operands of dtype `dtype`. Errors: kDTypeMismatch.
DType operand_dtype(const Op& op, DTypeRule rule, DType dtype);

/// The index of an op's row in a table; -1 if the table lacks it.
template <class Semantics, size_t n>
constexpr int row_of(const Semantics (&table)[n], const Op& op) {
  for (size_t i = 0; i < n; i++)
    if (table[i].op == op) return int(i);
  return -1;
}
/// The table row of a formula's op. A formula without a row does not compile.
template <const auto& table, class F>
constexpr const auto& semantics_of() {
  constexpr int row = row_of(table, F::op);
  static_assert(row >= 0, "the formula F has no row in the table of semantics");
  return table[row];
}
template <const auto& table, class... F>
constexpr bool all_have_semantics(TypeList<F...>) {
  return ((row_of(table, F::op) >= 0) && ...);
}

/// x itself if the op may overwrite it, else new memory for the result.
Tensor output_for(const Tensor& x, const Shape& shape, DType dtype, bool may_reuse, const Op& op,
                  int num_in);
/// The number as a tensor without dims, on x's device, converted as cast does.
Tensor scalar_like(const Tensor& x, Number value, DType dtype);
/// x cast to the dtype that composites compute in.
Tensor widened(const Tensor& x);

}  // namespace wick
