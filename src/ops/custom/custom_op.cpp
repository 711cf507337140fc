#include "wick/ops/custom_op.h"

#include "ops/elementwise/dtypes.h"
#include "ops/tape/tape.h"

namespace wick {
namespace {

[[noreturn]] void fail_missing(const char* device, const char* name) {
  fail(ErrorCode::kUnsupported, "apply", "no ", device, " implementation for ", name);
}

void check_operands(const char* name, int takes, std::span<const Tensor> inputs) {
  check(int(inputs.size()) == takes, ErrorCode::kInvalidArgument, name, "expected ", takes,
        " inputs, got ", inputs.size());
  for (const Tensor& x : inputs) {
    check_defined(name, x);
    check_same_device(name, inputs[0], x);
  }
}

std::vector<HostView> host_views(std::span<const Tensor> tensors) {
  return {tensors.begin(), tensors.end()};
}

Tensor run(const CustomOp& op, std::span<const Tensor> inputs) {
  const Device& device = inputs[0].device();
  switch (device.kind()) {
    case DeviceKind::kCpu:
      return op.cpu(host_views(inputs));
    case DeviceKind::kRocm:
      return op.rocm(inputs);
    case DeviceKind::kCuda:
      return op.cuda(inputs);
    case DeviceKind::kEmulated:
      return op.emulated(inputs);
    case DeviceKind::kMetal:
      return op.metal(inputs);
    default:
      fail_missing(to_string(device).c_str(), op.name());
  }
}

void run(const InplaceOp& op, const Tensor& target, std::span<const Tensor> others) {
  const Device& device = target.device();
  switch (device.kind()) {
    case DeviceKind::kCpu:
      return op.cpu(HostTarget(target), host_views(others));
    case DeviceKind::kRocm:
      return op.rocm(target, others);
    case DeviceKind::kCuda:
      return op.cuda(target, others);
    case DeviceKind::kEmulated:
      return op.emulated(target, others);
    case DeviceKind::kMetal:
      return op.metal(target, others);
    default:
      fail_missing(to_string(device).c_str(), op.name());
  }
}

class OpOfFunctions : public CustomOp {
 public:
  OpOfFunctions(std::string name, CustomFunctions functions)
      : name_(std::move(name)), functions_(std::move(functions)) {}
  const char* name() const override { return name_.c_str(); }
  int num_inputs() const override { return functions_.num_inputs; }

  Tensor cpu(std::span<const HostView> inputs) const override {
    return functions_.cpu ? functions_.cpu(inputs) : CustomOp::cpu(inputs);
  }
  Tensor rocm(std::span<const Tensor> inputs) const override {
    return functions_.rocm ? functions_.rocm(inputs) : CustomOp::rocm(inputs);
  }
  Tensor cuda(std::span<const Tensor> inputs) const override {
    return functions_.cuda ? functions_.cuda(inputs) : CustomOp::cuda(inputs);
  }
  Tensor emulated(std::span<const Tensor> inputs) const override {
    return functions_.emulated ? functions_.emulated(inputs) : CustomOp::emulated(inputs);
  }
  Tensor metal(std::span<const Tensor> inputs) const override {
    return functions_.metal ? functions_.metal(inputs) : CustomOp::metal(inputs);
  }
  std::vector<Tensor> backward(std::span<const Tensor> inputs, const Tensor& output,
                               const Tensor& gradient) const override {
    return functions_.backward ? functions_.backward(inputs, output, gradient)
                               : CustomOp::backward(inputs, output, gradient);
  }

 private:
  std::string name_;
  CustomFunctions functions_;
};

/// Passes on the gradients that a user's backward has returned. Checks them, since the tape relies
/// on them.
void pass_back(std::string_view name, const RuleContext& c, const std::vector<Device>& devices,
               const std::vector<Tensor>& found, std::span<Tensor> gradients) {
  check(found.size() == gradients.size(), ErrorCode::kInvalidArgument, name, "backward: expected ",
        gradients.size(), " gradients, got ", found.size());
  for (int i = 0; i < int(gradients.size()); i++) {
    const Tensor& g = found[size_t(i)];
    if (!c.wants(i) || !g) continue;
    check(g.shape() == c.input_shape(i), ErrorCode::kShapeMismatch, name,
          "backward: the gradient of input ", i, " has shape ", g.shape(), ", expected ",
          c.input_shape(i));
    check(g.dtype() == c.input_dtype(i), ErrorCode::kDTypeMismatch, name,
          "backward: the gradient of input ", i, " is ", dtype_name(g.dtype()), ", expected ",
          dtype_name(c.input_dtype(i)));
    check(g.device() == devices[size_t(i)], ErrorCode::kDeviceMismatch, name,
          "backward: the gradient of input ", i, " is on ", g.device(), ", expected ",
          devices[size_t(i)]);
    gradients[size_t(i)] = g;
  }
}

/// The gradient rule of a custom op.
void run_backward(const CustomOp& op, const RuleContext& c, std::span<Tensor> gradients) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < int(gradients.size()); i++) inputs.push_back(c.input(i));
  const std::vector<Device> devices(inputs.size(), c.gradient.device());
  pass_back(op.name(), c, devices, op.backward(inputs, c.output(), c.gradient), gradients);
}

std::vector<const Tensor*> pointers_to(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& x : tensors) pointers.push_back(&x);
  return pointers;
}

}  // namespace

void HostView::check_type(DType asked) const {
  check(asked == dtype(), ErrorCode::kDTypeMismatch, "data", "expected the operand's dtype ",
        dtype_name(dtype()), ", got ", dtype_name(asked));
}
void HostView::check_contiguous() const {
  check(is_contiguous(), ErrorCode::kInvalidArgument, "values",
        "expected contiguous elements, got strides ", strides(), " of shape ", shape());
}

Tensor CustomOp::cpu(std::span<const HostView>) const { fail_missing("cpu", name()); }
Tensor CustomOp::rocm(std::span<const Tensor>) const { fail_missing("rocm", name()); }
Tensor CustomOp::cuda(std::span<const Tensor>) const { fail_missing("cuda", name()); }
Tensor CustomOp::emulated(std::span<const Tensor>) const { fail_missing("emulated", name()); }
Tensor CustomOp::metal(std::span<const Tensor>) const { fail_missing("metal", name()); }
std::vector<Tensor> CustomOp::backward(std::span<const Tensor>, const Tensor&,
                                       const Tensor&) const {
  fail(ErrorCode::kNoGradient, "backward", "the custom op ", name(), " has no backward");
}

void InplaceOp::cpu(HostTarget, std::span<const HostView>) const { fail_missing("cpu", name()); }
void InplaceOp::rocm(const Tensor&, std::span<const Tensor>) const { fail_missing("rocm", name()); }
void InplaceOp::cuda(const Tensor&, std::span<const Tensor>) const { fail_missing("cuda", name()); }
void InplaceOp::emulated(const Tensor&, std::span<const Tensor>) const {
  fail_missing("emulated", name());
}
void InplaceOp::metal(const Tensor&, std::span<const Tensor>) const {
  fail_missing("metal", name());
}

CustomOpRef custom_op(std::string name, CustomFunctions functions) {
  check(1 <= functions.num_inputs && functions.num_inputs <= 3, ErrorCode::kInvalidArgument,
        "custom_op", name, ": expected 1 to 3 inputs, got ", functions.num_inputs);
  return CustomOpRef(std::make_shared<const OpOfFunctions>(std::move(name), std::move(functions)));
}

Tensor with_gradient(const std::string& name, const Tensor& y, const std::vector<Tensor>& inputs,
                     BackwardFunction backward, bool keep_output) {
  check_defined(name.c_str(), y);
  std::vector<Device> devices;
  for (const Tensor& x : inputs) {
    check_defined(name.c_str(), x);
    devices.push_back(x.device());
  }
  // The node stores a pointer to the name, which the rule owns.
  const auto owned = std::make_shared<const std::string>(name);
  return record(owned->c_str(), y, pointers_to(inputs), keep_output ? kKeepOutput : kKeepNothing,
                [owned, devices = std::move(devices), backward = std::move(backward), keep_output](
                    const RuleContext& c, std::span<Tensor> gradients) {
                  const Tensor output = keep_output ? c.output() : Tensor();
                  pass_back(*owned, c, devices, backward(output, c.gradient), gradients);
                });
}

namespace detail {

Tensor apply(std::shared_ptr<const CustomOp> op, std::initializer_list<Tensor> inputs) {
  check(op != nullptr, ErrorCode::kInvalidArgument, "apply",
        "expected an op, got an empty CustomOpRef");
  const std::span<const Tensor> all(inputs.begin(), inputs.size());
  check_operands(op->name(), op->num_inputs(), all);
  Tensor y;
  {
    const NoGrad off;
    std::vector<Tensor> detached;
    for (const Tensor& x : all) detached.push_back(x.detach());
    y = run(*op, detached);
  }
  check(bool(y), ErrorCode::kInvalidArgument, op->name(), "the op returned an empty Tensor()");
  check(y.device() == all[0].device(), ErrorCode::kDeviceMismatch, op->name(),
        "the op returned a tensor on ", y.device(), ", expected ", all[0].device());
  // The node stores op->name(), which stays valid as long as the rule that holds the op.
  const char* name = op->name();
  return record(name, std::move(y), pointers_to(all), kKeepInputs | kKeepOutput,
                [op = std::move(op)](const RuleContext& c, std::span<Tensor> gradients) {
                  run_backward(*op, c, gradients);
                });
}

void apply_(const InplaceOp& op, Var& target, std::initializer_list<Tensor> others) {
  check(target.defined(), ErrorCode::kInvalidArgument, op.name(), "the target is an empty Var()");
  std::vector<Tensor> all{target.tensor().detach()};
  for (const Tensor& x : others) all.push_back(x ? x.detach() : x);
  check_operands(op.name(), op.num_inputs(), all);
  const NoGrad off;
  // Bumped before the op runs, since a failing op may have written part of the target.
  target.tensor().storage()->bump_version();
  run(op, all[0], std::span<const Tensor>(all).subspan(1));
}

}  // namespace detail

}  // namespace wick
