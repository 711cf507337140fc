// Kernels made while the program runs: from a formula, or from C++ source.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

struct FormulaOptions {
  int inputs = 1;                       // 1 to 8: a, b, c ...
  std::vector<std::string> names = {};  // or these
};

/// An elementwise op from a formula. Operands broadcast and promote as those of other ops; floats
/// compute in f32 (f64 in f64) and integers in i64 (u64 in u64), wrapping, or in f32 where the
/// formula has a real number or what takes floats alone: a division, exp. A comparison gives bool.
/// Any layout. Each part is within the error of its op, but that elementary functions are the C
/// library's: erfc of f64 is within 5 ulp. It has no gradient: differentiating through it is an
/// error that names it.
///
/// The code is compiled by the system's compiler at the first call with a dtype, and kept on disk
/// (docs/reference/environment.md: WICK_CXX, WICK_CACHE_DIR). Errors of a call: kShapeMismatch,
/// kDeviceMismatch; kInvalidArgument for another number of inputs; kDTypeMismatch for floats where
/// the formula has a function of integers alone (bitwise_and, shift_left); kUnsupported on another
/// device than the CPU, and without a compiler.
class WICK_API FormulaKernel {
 public:
  template <std::convertible_to<Tensor>... More>
  Tensor operator()(const Tensor& x, const More&... more) const {
    return run({x, Tensor(more)...});
  }
  Tensor run(const std::vector<Tensor>& inputs) const;

  struct Impl;
  explicit FormulaKernel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// The formula is made of the inputs' names, numbers, ( ), + - * / %, < <= > >= == !=, ! && ||,
/// c ? x : y (which computes both), the constants pi, inf and nan, and calls of elementwise ops by
/// their names: every one of one operand (wick/ops/unary.h), with the numbers of affine, elu and
/// leaky_relu behind it, of two (wick/ops/binary.h) and every comparison (wick/ops/compare.h) that
/// has a formula of its own in src/scalar, and min, max, clamp(x, low, high), hypot and logaddexp.
/// Operators and functions mean what the ops do: % is remainder, with the divisor's sign, and by
/// integer 0 gives 0; min and max are minimum and maximum, NaN where one is; round takes halves to
/// even. Those of bits and shifts take bool as an integer.
///
/// Errors: kInvalidArgument, which names the formula, the position and what is wrong: "NAME: 'a +':
/// at 4: expected a value, got the end".
WICK_API FormulaKernel elementwise_kernel(const std::string& name, const std::string& formula,
                                          const FormulaOptions& options = {});

/// A kernel of C++ source with an entry `extern "C" void NAME(const WickTensor* inputs, int
/// num_inputs, const WickTensor* outputs, int num_outputs)`. What it is given (declared before the
/// source):
///
///   struct WickTensor { void* data; int dtype, rank; const int64_t *shape, *strides; };
///
/// dtype is DType's number, strides are in elements. It may use its own threads and must not throw.
class WICK_API CompiledKernel {
 public:
  /// Runs it on tensors of the CPU, in any layout. Errors: kUnsupported elsewhere.
  void launch(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const;

  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles at once. name: the entry's, an identifier. Errors: kInvalidArgument if name is none, or
/// the source lacks the entry; kUnsupported on another device than the CPU, without a compiler, or
/// if it does not take the source (with its first complaints).
WICK_API CompiledKernel compile_kernel(const Device& device, const std::string& name,
                                       const std::string& source);

}  // namespace wick
