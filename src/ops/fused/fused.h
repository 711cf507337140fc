// What ops with a kernel of their own share: the operands that a kernel takes, and for a fused op the
// choice between kernel and composite, forward and backward.
#pragma once
#include "core/launch.h"
#include "ops/tape/tape.h"
#include "wick/ops/composite.h"
#include "wick/ops/create.h"

namespace wick {

/// Whether a fused op should try its kernel now.
inline bool wants_kernel() { return composite_mode() != CompositeMode::kAlways; }
/// Whether it may fall back on its composite.
inline bool allows_composite() { return composite_mode() != CompositeMode::kNever; }

/// A tensor lent for one call, or one that the call alone has, which it keeps alive.
class Lent {
 public:
  Lent(const Tensor& x) : lent_(&x) {}
  Lent(Tensor&& x) : own_(std::move(x)) {}
  const Tensor& operator*() const { return lent_ ? *lent_ : own_; }
  const Tensor* operator->() const { return &**this; }

 private:
  const Tensor* lent_ = nullptr;
  Tensor own_;
};

/// A tensor that a kernel reads or writes, and as what. The view is made only if a kernel is asked,
/// and looks into *copy where the tensor itself does not lie as it must.
struct FusedOperand {
  Lent tensor;
  View (*view)(const Tensor& tensor, Tensor* copy);
};
/// By its own strides.
FusedOperand as_is(Lent x);
/// Row-major; an input is copied if it must be.
FusedOperand contiguous(Lent x);
/// By its own strides, the inner of which is 1; an input is copied if it must be.
FusedOperand unit_stride(Lent x);
/// x [..., D] as [N, D] with an inner stride of 1; an input is copied if it must be.
FusedOperand rows(Lent x);
/// How many rows that makes; 0 if there is nothing in them.
int64_t count_rows(const Tensor& x);

using FusedOperands = std::initializer_list<FusedOperand>;

/// Runs the op's kernel if the mode wants one and one takes the operands. False: take the composite,
/// which the mode then allows; else an error.
bool run_fused(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes = {});
/// The same for an op without a composite: an error if no kernel takes the operands.
void launch(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes = {});

/// A function that this call uses, and copies only if the tape is to have it.
template <class Signature>
class Offered;
template <class R, class... A>
class Offered<R(A...)> {
 public:
  Offered() = default;
  template <class F>
  Offered(const F& f)
      : f_(&f),
        call_([](const void* p, A... a) -> R { return (*static_cast<const F*>(p))(a...); }),
        copy_([](const void* p) -> std::function<R(A...)> { return *static_cast<const F*>(p); }) {}
  explicit operator bool() const { return f_ != nullptr; }
  R operator()(A... a) const { return call_(f_, a...); }
  /// An empty one if there is none.
  std::function<R(A...)> copy() const { return f_ ? copy_(f_) : nullptr; }

 private:
  const void* f_ = nullptr;
  R (*call_)(const void*, A...) = nullptr;
  std::function<R(A...)> (*copy_)(const void*) = nullptr;
};

/// A tensor [A, B, C, D] laid out [A, C, B, D]: its transpose of dims 1 and 2 is contiguous.
Tensor empty_transposed(const Shape& shape, const Tensor& like);

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
  Offered<Tensor(const std::vector<Tensor>& inputs)> composite = {};
  unsigned keep = kKeepInputs;
  /// Writes the gradients that are wanted by kernels (run_fused); false if there is none. They are
  /// not differentiated again.
  Offered<bool(const RuleContext&, std::span<Tensor> gradients)> gradient = {};
  Offered<void(const RuleContext&, std::span<Tensor> gradients)> rule = {};
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
