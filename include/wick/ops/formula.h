// Kernels compiled at run time, from a formula or from C++ source.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wick/core/tensor.h"
#include "wick/core/user_kernel.h"

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
/// The device's compiler (for the CPU and the emulator the system's) compiles the code at the first
/// call with a dtype; wick caches the result on disk (docs/reference/environment.md: WICK_CXX,
/// WICK_CACHE_DIR). Errors of a call: kShapeMismatch; kDeviceMismatch; kInvalidArgument for a wrong
/// number of inputs; kDTypeMismatch for floats if the formula has an integer-only function
/// (bitwise_and, bitwise_left_shift); kUnsupported on a device that compiles no source, or without
/// a compiler.
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
/// affine, elu, leaky_relu and softplus take their numbers after the operand; all binary ops
/// (wick/ops/binary.h) and comparisons (wick/ops/compare.h) that have a formula of their own in
/// src/scalar; and min, max, clamp(x, low, high), hypot and logaddexp. Operators and functions are
/// the ops: % is remainder, with the sign of the divisor, and gives 0 for integer division
/// by 0; min and max are minimum and maximum, NaN if either operand is; round rounds halves to
/// even. Arithmetic, bitwise and shift functions treat bool as an integer.
///
/// Errors: kInvalidArgument, whose message has the formula, the position and the reason: "NAME: 'a
/// +': at 4: expected a value, got the end".
WICK_API FormulaKernel elementwise_kernel(const std::string& name, const std::string& formula,
                                          const FormulaOptions& options = {});

/// A kernel compiled from source. On GPUs and the emulator it is a KernelFunction of one text in
/// the words that HIP and CUDA share; on the CPU, C++ with an entry point for whole tensors.
class WICK_API CompiledKernel {
 public:
  /// Launches the kernel on a GPU or the emulator, as KernelFunction::launch: `(grid, block,
  /// shared_bytes, arguments...)` or `(grid, block, shared_bytes, stream, arguments...)`, with
  /// tensors, pointers and scalars. Errors: as there; kUnsupported on the CPU.
  template <class... Arguments>
  void launch(Dim3 grid, Dim3 block, int64_t shared_bytes, const Arguments&... arguments) const {
    function().launch(grid, block, shared_bytes, arguments...);
  }
  /// Runs the kernel on CPU tensors in any layout. Errors: kUnsupported on other devices.
  void launch(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const;
  /// The kernel on a GPU or the emulator. Errors: kUnsupported on the CPU.
  const KernelFunction& function() const;

  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles source to a kernel, immediately; wick caches the result on disk. name: the entry point,
/// an identifier of at most 255 characters.
///
/// On GPUs and the emulator the source defines `extern "C" __global__ void NAME(...)`, whose
/// parameters are pointers and plain values. It may use threadIdx, blockIdx, blockDim, gridDim and
/// warpSize; __shared__, static and dynamic (extern); __syncthreads; __shfl_sync, __shfl_up_sync,
/// __shfl_down_sync, __shfl_xor_sync, __ballot_sync, __any_sync, __all_sync, with a mask of 64 bits
/// (~0ull: all lanes); atomics; CUDA's mathematical functions; no #include. AMD's cards
/// compile it through hipRTC, NVIDIA's through NVRTC, the emulator through the system's compiler
/// (WICK_CXX). The emulator has no __half, and lanes named in a mask must not have returned.
///
/// On the CPU the source is C++ with `extern "C" void NAME(const WickTensor* inputs, int
/// num_inputs, const WickTensor* outputs, int num_outputs)`. wick declares its argument type before
/// the source:
///
///   struct WickTensor { void* data; int dtype, rank; const int64_t *shape, *strides; };
///
/// dtype is the numeric value of DType; strides are in elements. The kernel may start its own
/// threads and must not throw.
///
/// Errors: kInvalidArgument if name is not an identifier or the compiler rejects the source (the
/// message has its first complaints); kKernelNotFound if the source does not define the kernel;
/// kUnsupported without a compiler, and on a device that compiles no source.
WICK_API CompiledKernel compile_kernel(const Device& device, const std::string& name,
                                       const std::string& source);

}  // namespace wick
