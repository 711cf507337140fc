// What elementwise ops share: what a row says of an op, and how it then runs.
#pragma once
#include "core/launch.h"
#include "ops/dtypes.h"
#include "ops/tape.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"

namespace wick {

/// Which dtypes an op takes, and what becomes of others.
enum class Takes {
  kFloats,    // integers and bool compute in f32
  kNumbers,   // integers as they are, bool as i64
  kBits,      // integers and bool as they are, floats are an error
  kIntegers,  // bool as i64, floats are an error
};

/// An op of one operand: a row of the table in unary.cpp.
struct UnaryMeaning {
  OpId op;
  Takes takes;
  unsigned keep;
  Tensor (*gradient)(const Tensor& gy, const RuleContext& c);
  Tensor (*composite)(const Tensor& x) = nullptr;  // in smaller ops, if it can be
};

/// An op of two operands: a row of the table in binary.cpp.
struct BinaryMeaning {
  OpId op;
  Takes takes;
  unsigned keep;
  /// Of the operand `side`, before it is summed to the operand's shape. None: constant, off the
  /// tape.
  Tensor (*gradient)(const Tensor& gy, const RuleContext& c, int side);
  Tensor (*composite)(const Tensor& a, const Tensor& b) = nullptr;
};

Tensor run_unary(const UnaryMeaning& m, Tensor x);
/// dtype: what both operands promote to.
Tensor run_binary(const BinaryMeaning& m, Tensor a, const Tensor& b, DType dtype);
Tensor run_binary(const BinaryMeaning& m, Tensor a, const Tensor& b);
Tensor run_binary(const BinaryMeaning& m, Tensor a, Number b);

/// The dtype that an op computes in. Errors: kDTypeMismatch.
DType taken(OpId op, Takes takes, DType dtype);

/// The row of an op, found when the program is compiled.
template <class Meaning, size_t n>
constexpr const Meaning& meaning_of(const Meaning (&table)[n], OpId op) {
  for (const Meaning& m : table)
    if (m.op == op) return m;
  return table[0];  // unreachable: each public function names a row
}

/// x itself if it may be written over, else fresh memory for the result.
Tensor output_for(const Tensor& x, const Shape& shape, DType dtype, bool may_reuse, OpId op,
                  int num_in);
/// The number as a tensor without dims, on x's device.
Tensor scalar_like(const Tensor& x, Number value, DType dtype);
/// x in the dtype that composites compute in.
Tensor widened(const Tensor& x);

}  // namespace wick
