#include "ops/fused/fused.h"

#include "base/assert.h"
#include "base/calling.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The operands of a call as views, and the copies that some of them look into.
struct Views {
  View in[kMaxOperands], out[kMaxOperands];
  Tensor copies[kMaxOperands];

  Views(FusedOperands inputs, FusedOperands outputs) {
    WICK_ASSERT(inputs.size() <= kMaxOperands && outputs.size() <= kMaxOperands);
    for (size_t i = 0; i < inputs.size(); i++) {
      const FusedOperand& x = inputs.begin()[i];
      in[i] = x.view(*x.tensor, &copies[i]);
    }
    Tensor copy;
    for (size_t i = 0; i < outputs.size(); i++) {
      const FusedOperand& y = outputs.begin()[i];
      out[i] = y.view(*y.tensor, &copy);
    }
    WICK_ASSERT(!copy);  // what is written into it would be lost
  }
};

bool try_launch(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes,
                Declined* declined) {
  const Views views(in, out);
  return try_launch(in.begin()->tensor->device(), op, {views.in, in.size()},
                    {views.out, out.size()}, attributes, declined);
}

[[noreturn]] void fail_unsupported(const Op& op, FusedOperands in, const Declined& declined,
                                   const char* composite) {
  const Tensor& first = *in.begin()->tensor;
  fail_unsupported(first.device(), op, first.dtype(), declined, composite);
}

View contiguous_view(const Tensor& x, Tensor* copy) {
  if (x.is_contiguous()) return make_view(x);
  return make_view(*copy = make_contiguous(x));
}

View unit_stride_view(const Tensor& x, Tensor* copy) {
  if (x.size(-1) <= 1 || x.strides().back() == 1) return make_view(x);
  return make_view(*copy = make_contiguous(x));
}

View rows_view(const Tensor& x, Tensor* copy) {
  const Shape shape{count_rows(x), x.rank() ? x.size(-1) : 1};
  Dims strides;
  if (reshape_strides(x.layout(), shape, &strides) && (strides[1] == 1 || shape[1] == 1))
    return make_view(x.data(), x.dtype(), shape, {strides[0], 1});
  *copy = make_contiguous(x);
  return make_view(copy->data(), x.dtype(), shape, {shape[1], 1});
}

}  // namespace

FusedOperand as_is(const Tensor& x) {
  return {&x, [](const Tensor& tensor, Tensor*) { return make_view(tensor); }};
}
FusedOperand contiguous(const Tensor& x) { return {&x, contiguous_view}; }
FusedOperand unit_stride(const Tensor& x) { return {&x, unit_stride_view}; }
FusedOperand rows(const Tensor& x) { return {&x, rows_view}; }

int64_t count_rows(const Tensor& x) {
  const int64_t columns = x.rank() ? x.size(-1) : 1;
  return columns ? x.numel() / columns : 0;
}

bool run_fused(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes) {
  if (!wants_kernel()) return false;
  Declined declined;
  if (try_launch(op, in, out, attributes, &declined)) return true;
  if (!allows_composite()) fail_unsupported(op, in, declined, kCompositeOff);
  return false;
}

bool run_group(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes) {
  if (!wants_kernel()) return false;
  const CompositeScope may_decline(CompositeMode::kAuto);
  return run_fused(op, in, out, attributes);
}

void launch(const Op& op, FusedOperands in, FusedOperands out, Attributes attributes) {
  Declined declined;
  if (!try_launch(op, in, out, attributes, &declined))
    fail_unsupported(op, in, declined, kNoComposite);
}

Tensor new_state(bool overwrites, const Tensor& before, const Shape& shape,
                 const TensorOptions& options, int64_t tokens) {
  const bool fits = overwrites && tokens == 1 && before && before.shape() == shape &&
                    before.dtype() == options.dtype && before.is_contiguous();
  if (!fits) return Tensor::empty(shape, options);
  before.storage()->bump_version();
  return before;
}

Tensor empty_transposed(const Shape& s, const Tensor& like) {
  const Tensor y =
      Tensor::empty({s[0], s[2], s[1], s[3]}, {.dtype = like.dtype(), .device = like.device()});
  return transpose(y, 1, 2);
}

Tensor empty_gradient(const RuleContext& c, int i) {
  return Tensor::empty(c.input_shape(i),
                       {.dtype = c.input_dtype(i), .device = c.gradient.device()});
}

Tensor fused(Fused&& f) {
  const Tensor& y = *f.out.begin()->tensor;
  const Tensor* all[kMaxOperands];
  size_t count = 0;
  for (const Tensor* x : f.inputs)
    if (*x) all[count++] = x;
  const std::span<const Tensor* const> inputs(all, count);
  if (y.numel() == 0) return record_constant(f.op.name, y, inputs);
  const auto run_composite = [&](bool on_tape) {
    const Calling calling(f.op.name);
    std::vector<Tensor> in;
    in.reserve(count);
    for (const Tensor* x : inputs) in.push_back(on_tape ? *x : x->detach());
    return f.composite(in);
  };
  const bool ran = run_fused(f.op, f.in, f.out, f.attributes);
  if (!ran && !f.rule_for_both) return run_composite(true);
  Tensor result = ran ? y : run_composite(false);
  if (!recording(inputs)) return result;
  if (f.rule) return record(f.op.name, std::move(result), inputs, f.keep, f.rule.copy());
  return record(f.op.name, std::move(result), inputs, f.keep,
                [composite = f.composite.copy(), gradient = f.gradient.copy()](
                    const RuleContext& c, std::span<Tensor> gradients) {
                  const bool by_kernel = gradient && !grad_enabled() && wants_kernel();
                  if (!by_kernel || !gradient(c, gradients)) differentiate(c, gradients, composite);
                });
}

Tensor record_constant(const char* op, Tensor y, std::span<const Tensor* const> inputs) {
  return record(op, std::move(y), inputs, kKeepNothing,
                [](const RuleContext& c, std::span<Tensor> gradients) {
                  for (int i = 0; i < int(gradients.size()); i++)
                    if (c.wants(i))
                      gradients[size_t(i)] =
                          zeros(c.input_shape(i),
                                {.dtype = c.input_dtype(i), .device = c.gradient.device()});
                });
}

}  // namespace wick
