// Kernels compiled at run time, from a formula or from C++ source.
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
  int inputs = 1;                       // 1 to 8, named a, b, c ...
  std::vector<std::string> names = {};  // other names for them
};

/// An elementwise op compiled from a formula. Operands may have any layout, and broadcast and
/// promote as in other ops. Floats compute in f32 (f64 for f64). Integers compute in i64 (u64 for
/// u64) and wrap, or in f32 if the formula contains a real number or a float-only operation such as
/// division or exp. A comparison returns bool. Each part has the error bound of its op, but
/// elementary functions are the C library's: erfc of f64 is within 5 ulp. The op has no gradient:
/// differentiating through it is an error that names it.
///
/// The system's compiler compiles the code at the first call with a dtype; wick caches the result
/// on disk (docs/reference/environment.md: WICK_CXX, WICK_CACHE_DIR). Errors of a call:
/// kShapeMismatch; kDeviceMismatch; kInvalidArgument for a wrong number of inputs; kDTypeMismatch
/// for floats if the formula has an integer-only function (bitwise_and, bitwise_left_shift);
/// kUnsupported on a device other than the CPU, or without a compiler.
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

/// Builds an op from a formula. A formula consists of the inputs' names, numbers, ( ), + - * / %, <
/// <= > >= == !=, ! && ||, c ? x : y (which evaluates both branches), the constants pi, inf and
/// nan, and calls of elementwise ops by name. These are all unary ops (wick/ops/unary.h), where
/// affine, elu and leaky_relu take their numbers after the operand; all binary ops
/// (wick/ops/binary.h) and comparisons (wick/ops/compare.h) that have a formula of their own in
/// src/scalar; and min, max, clamp(x, low, high), hypot and logaddexp. Operators and functions mean
/// what the ops do: % is remainder, with the sign of the divisor, and gives 0 for integer division
/// by 0; min and max are minimum and maximum, NaN if either operand is; round rounds halves to
/// even. Bitwise and shift functions treat bool as an integer.
///
/// Errors: kInvalidArgument, whose message has the formula, the position and the reason: "NAME: 'a
/// +': at 4: expected a value, got the end".
WICK_API FormulaKernel elementwise_kernel(const std::string& name, const std::string& formula,
                                          const FormulaOptions& options = {});

/// A kernel compiled from C++ source with an entry point `extern "C" void NAME(const WickTensor*
/// inputs, int num_inputs, const WickTensor* outputs, int num_outputs)`. wick declares its argument
/// type before the source:
///
///   struct WickTensor { void* data; int dtype, rank; const int64_t *shape, *strides; };
///
/// dtype is the numeric value of DType; strides are in elements. The kernel may start its own
/// threads and must not throw.
class WICK_API CompiledKernel {
 public:
  /// Runs the kernel on CPU tensors in any layout. Errors: kUnsupported on other devices.
  void launch(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const;

  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles C++ source to a kernel, immediately. name: the entry point, an identifier. Errors:
/// kInvalidArgument if name is not an identifier, or the source does not define the entry point;
/// kUnsupported on a device other than the CPU, without a compiler, or if the compiler rejects the
/// source (the message has its first diagnostics).
WICK_API CompiledKernel compile_kernel(const Device& device, const std::string& name,
                                       const std::string& source);

}  // namespace wick
