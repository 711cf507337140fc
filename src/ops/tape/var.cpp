#include "wick/core/var.h"

#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/tape/tape.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

Tensor with_node(const Tensor& x, std::shared_ptr<AutogradNode> node) {
  Tensor own(x.storage(), x.layout(), x.dtype());
  own.set_node(std::move(node));
  return own;
}

/// A tensor in memory that no other holder of x sees: x itself if nobody else holds it.
Tensor own(const Tensor& x) { return x.uniquely_owned() && x.is_contiguous() ? x : own_copy(x); }

void check_var(const char* op, const Var& v) {
  check(v.defined(), ErrorCode::kInvalidArgument, op, "the target is an empty Var()");
}

}  // namespace

Var::Var(Tensor init, bool requires_grad) {
  check(bool(init), ErrorCode::kInvalidArgument, "Var", "the initial value is an empty Tensor()");
  check(!requires_grad || is_floating(init.dtype()), ErrorCode::kDTypeMismatch, "Var",
        "requires_grad needs a floating dtype, got ", dtype_name(init.dtype()));
  value_ = std::make_shared<Tensor>(with_node(own(init), requires_grad ? make_leaf() : nullptr));
}

const Tensor& Var::tensor() const {
  static const Tensor none;
  return value_ ? *value_ : none;
}

Tensor Var::grad() const {
  check_var("grad", *this);
  return value_->node() ? leaf_gradient(*value_->node()) : Tensor();
}

void Var::zero_grad() const {
  check_var("zero_grad", *this);
  if (value_->node()) clear_leaf(*value_->node());
}

void Var::set_(Tensor value) {
  check_var("set_", *this);
  check(bool(value) && value.shape() == value_->shape(), ErrorCode::kShapeMismatch, "set_",
        "expected shape ", value_->shape(), ", got ",
        value ? to_string(value.shape()) : "an empty Tensor()");
  check(value.dtype() == value_->dtype(), ErrorCode::kDTypeMismatch, "set_", "expected ",
        dtype_name(value_->dtype()), ", got ", dtype_name(value.dtype()));
  check(value.device() == value_->device(), ErrorCode::kDeviceMismatch, "set_", "expected ",
        value_->device(), ", got ", value.device());
  *value_ = with_node(own(value), value_->node());
}

Var Var::rows(int64_t first, int64_t count) const {
  check_var("rows", *this);
  check(!value_->node(), ErrorCode::kInvalidArgument, "rows",
        "expected a Var that requires no gradient");
  Var part;
  part.value_ = std::make_shared<Tensor>(with_node(narrow(*value_, 0, first, count), nullptr));
  return part;
}

}  // namespace wick
