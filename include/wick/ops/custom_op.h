// User-defined ops, without changes to wick. docs/how-to/custom-op.md shows how to write one.
#pragma once
#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// A CPU operand in any layout: element (i, j ...) is data[i strides[0] + j strides[1] ...].
class WICK_API HostView {
 public:
  explicit HostView(const Tensor& x) : x_(x) {}

  DType dtype() const { return x_.dtype(); }
  const Shape& shape() const { return x_.shape(); }
  const Dims& strides() const { return x_.strides(); }  // in elements
  int64_t numel() const { return x_.numel(); }
  bool is_contiguous() const { return x_.is_contiguous(); }
  /// The first element. Errors: kDTypeMismatch if T is not the C++ type of the dtype.
  template <class T>
  const T* data() const {
    check_type(kDTypeOf<T>);
    return static_cast<const T*>(x_.data());
  }
  /// All elements in row-major order. Errors: kDTypeMismatch; kInvalidArgument if the operand is
  /// not contiguous.
  template <class T>
  std::span<const T> values() const {
    check_contiguous();
    return {data<T>(), size_t(numel())};
  }
  /// The same elements in row-major order, copied if the operand is not contiguous.
  HostView contiguous() const { return HostView(x_.contiguous()); }
  const Tensor& tensor() const { return x_; }

 protected:
  void check_type(DType asked) const;
  void check_contiguous() const;
  Tensor x_;
};

/// A writable HostView: a freshly allocated output, or an InplaceOp's target.
class WICK_API HostTarget : public HostView {
 public:
  explicit HostTarget(const Tensor& x) : HostView(x) {}
  template <class T>
  T* data() const {
    return const_cast<T*>(HostView::data<T>());
  }
  template <class T>
  std::span<T> values() const {
    check_contiguous();
    return {data<T>(), size_t(numel())};
  }
};

/// An op with one to three inputs that returns a new tensor. An op that is missing a device's
/// function throws kUnsupported there: "no rocm implementation for NAME". Inputs are on one device
/// and off the tape.
class WICK_API CustomOp {
 public:
  virtual ~CustomOp() = default;
  virtual const char* name() const = 0;
  virtual int num_inputs() const { return 1; }

  virtual Tensor cpu(std::span<const HostView> inputs) const;
  virtual Tensor rocm(std::span<const Tensor> inputs) const;
  virtual Tensor cuda(std::span<const Tensor> inputs) const;
  virtual Tensor emulated(std::span<const Tensor> inputs) const;
  virtual Tensor metal(std::span<const Tensor> inputs) const;
  /// The gradient of each input, in its shape and dtype; an empty Tensor() for an input without
  /// one. A gradient built from ops can be differentiated again. The default throws kNoGradient.
  virtual std::vector<Tensor> backward(std::span<const Tensor> inputs, const Tensor& output,
                                       const Tensor& gradient) const;
};

/// An op shared by several tensors and threads. It is not a std::shared_ptr: argument-dependent
/// lookup would then find std::apply.
class CustomOpRef {
 public:
  CustomOpRef() = default;
  explicit CustomOpRef(std::shared_ptr<const CustomOp> op) : op_(std::move(op)) {}
  const CustomOp* operator->() const { return op_.get(); }
  const std::shared_ptr<const CustomOp>& shared() const { return op_; }

 private:
  std::shared_ptr<const CustomOp> op_;
};

/// The members of a CustomOp as functions; an empty one counts as missing.
struct CustomFunctions {
  int num_inputs = 1;
  std::function<Tensor(std::span<const HostView>)> cpu = {};
  std::function<Tensor(std::span<const Tensor>)> rocm = {}, cuda = {}, emulated = {}, metal = {};
  std::function<std::vector<Tensor>(std::span<const Tensor>, const Tensor&, const Tensor&)>
      backward = {};
};
/// Makes an op of this name whose members are these functions.
WICK_API CustomOpRef custom_op(std::string name, CustomFunctions functions);

namespace detail {
WICK_API Tensor apply(std::shared_ptr<const CustomOp> op, std::initializer_list<Tensor> inputs);
}

/// Runs the op and records it on the tape, which keeps the op, the inputs and the output. Errors:
/// kInvalidArgument if the op takes another number of inputs; kDeviceMismatch; kUnsupported; and in
/// backward kNoGradient, or kShapeMismatch and kDTypeMismatch if a gradient differs from its input
/// in shape or dtype.
template <std::same_as<Tensor>... More>
requires(sizeof...(More) <= 2) Tensor
    apply(const CustomOpRef& op, const Tensor& x, const More&... more) {
  return detail::apply(op.shared(), {x, more...});
}
/// Runs an op of a user-defined class; the tape keeps a copy of the op.
template <std::derived_from<CustomOp> Op, std::same_as<Tensor>... More>
requires(sizeof...(More) <= 2) Tensor apply(const Op& op, const Tensor& x, const More&... more) {
  return detail::apply(std::make_shared<const Op>(op), {x, more...});
}

/// The gradients of the inputs from the output's gradient, as CustomOp::backward returns them.
using BackwardFunction =
    std::function<std::vector<Tensor>(const Tensor& output, const Tensor& gradient)>;

/// Records on the tape that y was computed from any number of inputs and has this gradient. Returns
/// y as so recorded; how y was computed from the inputs is left off the tape. The tape keeps
/// neither the inputs nor y: `backward` must own the tensors that it needs, and wick does not
/// check whether they have been overwritten since.
///
/// name         for errors
/// keep_output  the tape keeps y, which backward then gets as `output`, else an empty Tensor()
/// Errors: kInvalidArgument if y or an input is empty; and in backward apply's.
WICK_API Tensor with_gradient(const std::string& name, const Tensor& y,
                              const std::vector<Tensor>& inputs, BackwardFunction backward,
                              bool keep_output = false);

/// An op that writes its first operand and reads up to two others, which may overlap it. The op is
/// not recorded on the tape; a gradient that needs the overwritten values is an error.
class WICK_API InplaceOp {
 public:
  virtual ~InplaceOp() = default;
  virtual const char* name() const = 0;
  virtual int num_inputs() const { return 1; }  // including the target

  virtual void cpu(HostTarget target, std::span<const HostView> others) const;
  virtual void rocm(const Tensor& target, std::span<const Tensor> others) const;
  virtual void cuda(const Tensor& target, std::span<const Tensor> others) const;
  virtual void emulated(const Tensor& target, std::span<const Tensor> others) const;
  virtual void metal(const Tensor& target, std::span<const Tensor> others) const;
};

namespace detail {
WICK_API void apply_(const InplaceOp& op, Var& target, std::initializer_list<Tensor> others);
}

/// Runs the op on the Var's memory. Errors: as for apply.
template <std::same_as<Tensor>... More>
requires(sizeof...(More) <= 2) void apply_(const InplaceOp& op, Var& target, const More&... more) {
  detail::apply_(op, target, {more...});
}

}  // namespace wick
