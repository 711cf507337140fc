// What ops with a kernel of their own share: the operands that a kernel takes, and for a fused op the
// choice between kernel and composite, forward and backward.
#pragma once
#include "base/function_ref.h"
#include "core/launch.h"
#include "ops/tape/tape.h"
#include "wick/ops/composite.h"
#include "wick/ops/create.h"

namespace wick {

/// Whether a fused op should try its kernel now.
inline bool wants_kernel() { return composite_mode() != CompositeMode::kAlways; }
/// Whether it may fall back on its composite.
inline bool allows_composite() { return composite_mode() != CompositeMode::kNever; }

/// A tensor that a kernel reads or writes, and how to view it. Refers to a tensor of the caller,
/// which must live until the call returns, as temporaries in its argument list do. The view is made
/// only if a kernel may run; it refers to *copy where the tensor's own layout does not fit.
struct FusedOperand {
  const Tensor* tensor;
  View (*view)(const Tensor& tensor, Tensor* copy);
};
/// By its own strides.
FusedOperand as_is(const Tensor& x);
/// Row-major; an input is copied if it must be.
FusedOperand contiguous(const Tensor& x);
/// By its own strides, the inner of which is 1; an input is copied if it must be.
FusedOperand unit_stride(const Tensor& x);
/// x [..., D] as [N, D] with an inner stride of 1; an input is copied if it must be.
FusedOperand rows(const Tensor& x);
/// How many rows that makes; 0 if there is nothing in them.
int64_t count_rows(const Tensor& x);

using FusedOperands = std::initializer_list<FusedOperand>;

/// Runs the op's kernel if the mode wants one and one takes the operands. False: take the composite,
/// which the mode then allows; else an error.
bool run_fused(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes = {});
/// run_fused for ops in a row that have kernels of their own, which the caller runs one by one if this
/// is false: the mode is about those.
bool run_group(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes = {});
/// run_fused for an op without a composite: an error if no kernel takes the operands.
void launch(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes = {});

/// A tensor [A, B, C, D] laid out [A, C, B, D]: its transpose of dims 1 and 2 is contiguous.
Tensor empty_transposed(const Shape& shape, const Tensor& like);

/// Memory for a state after `tokens` tokens: that of the state before, if it may be overwritten and
/// a kernel can, which reads each element before it writes it, for one token.
Tensor new_state(bool overwrites, const Tensor& before, const Shape& shape,
                 const TensorOptions& options, int64_t tokens);

/// Memory for the gradient of the i-th input.
Tensor empty_gradient(const RuleContext& c, int i);

/// A call of a fused op. Its gradient is `rule` if there is one, made of ops; else `gradient`, and
/// where that may not or cannot run the composite's, differentiated.
struct Fused {
  const Op& op;
  /// As the tape and the composite see them. An empty Tensor() among them is left out.
  std::initializer_list<const Tensor*> inputs;
  FusedOperands in, out;  // the kernel's; the first of out is the result
  Attributes attributes = {};
  FunctionRef<Tensor(const std::vector<Tensor>& inputs)> composite = {};
  unsigned keep = kKeepInputs;
  /// Writes the gradients that are wanted by kernels (run_fused); false if there is none. They are
  /// not differentiated again.
  FunctionRef<bool(const RuleContext&, std::span<Tensor> gradients)> gradient = {};
  FunctionRef<void(const RuleContext&, std::span<Tensor> gradients)> rule = {};
  /// The rule is the gradient of the composite too, which then runs off the tape.
  bool rule_for_both = false;
};
/// The result, of the kernel or of the composite, on the tape. An empty one is a constant of the
/// inputs.
Tensor fused(Fused&& f);

/// y, a constant of the inputs since there is nothing to compute: it stays on the tape, and their
/// gradients are zeros.
Tensor record_constant(const char* op, Tensor y, std::span<const Tensor* const> inputs);
inline Tensor record_constant(const char* op, Tensor y,
                              std::initializer_list<const Tensor*> inputs) {
  return record_constant(op, std::move(y), std::span(inputs.begin(), inputs.size()));
}

/// f64 for f64, else f32: what sums and statistics are kept in.
inline DType accumulator_of(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

}  // namespace wick
