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
/// formula divides, has a real number or a real function. A comparison gives bool. Any layout;
/// each part within the C library's error. It has no gradient: differentiating through it is an
/// error that names it.
///
/// The code is compiled by the system's compiler at the first call with a dtype, and kept on disk
/// (docs/reference/environment.md: WICK_CXX, WICK_CACHE_DIR). Errors of a call: kShapeMismatch,
/// kDeviceMismatch; kInvalidArgument for another number of inputs; kUnsupported on another device
/// than the CPU, and without a compiler.
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
/// c ? x : y, the constants pi, inf and nan, and calls of: abs sign relu min max clamp floor ceil
/// round trunc (of integers too), exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin
/// acos atan sinh cosh tanh erf sigmoid silu pow atan2 fmod hypot. % has the divisor's sign, and by
/// integer 0 gives 0; min and max give NaN where one is; round takes halves to even.
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
