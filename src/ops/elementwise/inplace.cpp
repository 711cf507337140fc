#include "wick/ops/inplace.h"

#include <functional>

#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/elementwise/range.h"
#include "ops/elementwise/write.h"
#include "ops/tape/tape.h"
#include "scalar/binary.h"
#include "wick/abi/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"

namespace wick {
namespace {

void check_var(const char* op, const Var& v) {
  check(v.defined(), ErrorCode::kInvalidArgument, op, "the target is an empty Var()");
}

void write(const char* op, Var& target, const Tensor& x) { write_into(op, target.tensor(), x); }

/// target = f(target).
void write_of(const char* op, Var& target, const std::function<Tensor(const Tensor&)>& f) {
  const Calling calling(op);
  check_var(op, target);
  const NoGrad off;
  write(op, target, f(target.tensor().detach()));
}

/// Runs the op with a kernel that overwrites its first operand, without extra memory. Returns false
/// if no such kernel accepts these operands.
bool runs_in_place(const Op& op, Var& target, const Tensor& other) {
  const Tensor& to = target.tensor();
  const DType dtype = to.dtype();
  if (!is_floating(dtype) || !other || other.device() != to.device() ||
      promote(to, other) != dtype || other.dtype() != dtype || other.storage() == to.storage())
    return false;
  Dims strides;
  if (!broadcast_strides(other.layout(), to.shape(), &strides)) return false;
  if (!may_run_in_place(to.device(), op, {dtype, dtype, dtype}, 2)) return false;
  const Operand in[] = {operand(to), operand(other, to.shape())}, out = operand(to);
  if (!try_elementwise(to.device(), op, to.shape(), in, {&out, 1}, {}, nullptr)) return false;
  to.storage()->bump_version();
  return true;
}

/// target = f(target).
void write_unary(const char* op, Var& target, Tensor (*f)(Tensor)) {
  write_of(op, target, [f](const Tensor& x) { return f(x); });
}

void write_binary(const char* name, const Op& op, Tensor (*f)(Tensor, const Tensor&), Var& target,
                  const Tensor& other) {
  const Calling calling(name);
  check_var(name, target);
  if (runs_in_place(op, target, other)) return;
  write_of(name, target, [&](const Tensor& x) { return f(x, other); });
}

}  // namespace

void write_into(const char* op, const Tensor& to, const Tensor& x) {
  check_defined(op, to);
  check_defined(op, x);
  check_same_device(op, to, x);
  check(broadcast_shapes(op, to.shape(), x.shape()) == to.shape(), ErrorCode::kShapeMismatch, op,
        "shape ", x.shape(), " does not broadcast to the target's ", to.shape());
  const Tensor source = apart_from(to, x);
  const Operand in = operand(source, to.shape()), out = operand(to);
  elementwise(to.device(), kCast, to.shape(), {&in, 1}, {&out, 1});
  to.storage()->bump_version();
}

void copy_(Var& target, const Tensor& value) {
  check_var("copy_", target);
  check_defined("copy_", value);
  const NoGrad off;
  write("copy_", target, value.to(target.tensor().device()));
}

void fill_(Var& target, Number value) {
  check_var("fill_", target);
  check_defined("fill_", target.tensor());
  check_holds("fill_", target.tensor().dtype(), value);
  write("fill_", target,
        full({}, value, {.dtype = target.tensor().dtype(), .device = target.tensor().device()}));
}
void zero_(Var& target) {
  const Calling calling("zero_");
  fill_(target, 0);
}

void add_(Var& target, const Tensor& value) { write_binary("add_", Add::op, add, target, value); }
void sub_(Var& target, const Tensor& value) { write_binary("sub_", Sub::op, sub, target, value); }
void mul_(Var& target, const Tensor& value) { write_binary("mul_", Mul::op, mul, target, value); }
void div_(Var& target, const Tensor& value) { write_binary("div_", Div::op, div, target, value); }
void maximum_(Var& target, const Tensor& value) {
  write_binary("maximum_", Maximum::op, maximum, target, value);
}
void minimum_(Var& target, const Tensor& value) {
  write_binary("minimum_", Minimum::op, minimum, target, value);
}
void pow_(Var& target, const Tensor& value) { write_binary("pow_", Pow::op, pow, target, value); }

void add_(Var& target, Number value) {
  write_of("add_", target, [&](const Tensor& x) { return add(x, value); });
}
void sub_(Var& target, Number value) {
  write_of("sub_", target, [&](const Tensor& x) { return sub(x, value); });
}
void mul_(Var& target, Number value) {
  write_of("mul_", target, [&](const Tensor& x) { return mul(x, value); });
}
void div_(Var& target, Number value) {
  write_of("div_", target, [&](const Tensor& x) { return div(x, value); });
}
void pow_(Var& target, Number value) {
  write_of("pow_", target, [&](const Tensor& x) { return pow(x, value); });
}
void clamp_(Var& target, const ClampOptions& options) {
  write_of("clamp_", target, [&](const Tensor& x) { return clamp(x, options); });
}
void masked_fill_(Var& target, const Tensor& mask, Number value) {
  write_of("masked_fill_", target, [&](const Tensor& x) { return masked_fill(x, mask, value); });
}
void lerp_(Var& target, const Tensor& end, double weight) {
  write_of("lerp_", target, [&](const Tensor& x) { return lerp(x, end, weight); });
}

void neg_(Var& target) { write_unary("neg_", target, neg); }
void abs_(Var& target) { write_unary("abs_", target, abs); }
void exp_(Var& target) { write_unary("exp_", target, exp); }
void log_(Var& target) { write_unary("log_", target, log); }
void sqrt_(Var& target) { write_unary("sqrt_", target, sqrt); }
void relu_(Var& target) { write_unary("relu_", target, relu); }
void sigmoid_(Var& target) { write_unary("sigmoid_", target, sigmoid); }
void tanh_(Var& target) { write_unary("tanh_", target, tanh); }
void floor_(Var& target) { write_unary("floor_", target, floor); }
void ceil_(Var& target) { write_unary("ceil_", target, ceil); }
void round_(Var& target) { write_unary("round_", target, round); }

}  // namespace wick
