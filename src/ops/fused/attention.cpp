#include "wick/ops/attention.h"

#include <cmath>
#include <limits>

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/attention.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

Tensor sdpa_composite(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions,
                      SdpaAttributes a) {
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2), d = q.size(3), g = k.size(1),
                s = k.size(2);
  const DType dtype = accumulator_of(q.dtype());
  const Tensor queries = reshape(cast(q, dtype), {b, g, h / g, t, d});
  const Tensor keys = unsqueeze(cast(k, dtype), 2),
               values = unsqueeze(cast(v, dtype), 2);          // [B, G, 1, S, D]
  Tensor scores = matmul(queries, transpose(keys)) * a.scale;  // [B, G, H / G, T, S]
  if (a.causal) {
    const Tensor seen = le(arange(s, {.dtype = DType::kI64, .device = q.device()}),
                           reshape(positions, {b, 1, 1, t, 1}));
    scores = where(seen, scores, -std::numeric_limits<double>::infinity());
  }
  return cast(reshape(matmul(softmax(scores), values), {b, h, t, v.size(3)}), q.dtype());
}

/// The gradients of q, k and v by their kernel; false if there is none.
bool sdpa_gradient(const RuleContext& c, const Tensor& l, const SdpaAttributes& attributes,
                   std::span<Tensor> gradients) {
  const Tensor rows[] = {with_unit_stride(c.gradient),
                         with_unit_stride(c.input(0)),
                         with_unit_stride(c.input(1)),
                         with_unit_stride(c.input(2)),
                         c.input(3),
                         c.output().detach()};
  std::vector<View> in;
  for (const Tensor& x : rows) in.push_back(make_view(x));
  in.push_back(make_view(l));
  View out[3];
  for (int i = 0; i < 3; i++) {
    // Laid out as the forward's operands mostly are, [B, T, H, D].
    const Shape& s = c.input_shape(i);
    gradients[size_t(i)] = permute(
        Tensor::empty({s[0], s[2], s[1], s[3]}, {.dtype = c.input_dtype(i), .device = l.device()}),
        {0, 2, 1, 3});
    out[i] = make_view(gradients[size_t(i)]);
  }
  return run_fused(l.device(), kSdpaGradient, in, out, attributes_of(attributes), c.input_dtype(0));
}

}  // namespace

Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions,
            const SdpaOptions& options) {
  for (const Tensor* x : {&q, &k, &v}) {
    check_defined("sdpa", *x);
    check_same_device("sdpa", q, *x);
    check(x->rank() == 4, ErrorCode::kShapeMismatch, "sdpa", "expected [B, H, T, D], got ",
          x->shape());
    check(is_floating(q.dtype()) && x->dtype() == q.dtype(), ErrorCode::kDTypeMismatch, "sdpa",
          "expected q, k and v of one floating dtype, got ", dtype_name(q.dtype()), " and ",
          dtype_name(x->dtype()));
  }
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2), g = k.size(1);
  check(k.size(0) == b && k.size(3) == q.size(3) && v.shape() == k.shape() && g > 0 && h % g == 0,
        ErrorCode::kShapeMismatch, "sdpa",
        "expected k and v [B, G, S, D] with B and D of q and G a divisor of its heads, got q ",
        q.shape(), ", k ", k.shape(), ", v ", v.shape());
  check_positions("sdpa", positions, b, t);
  check_same_device("sdpa", q, positions);
  const SdpaAttributes attributes{
      options.scale != 0 ? options.scale : 1 / std::sqrt(double(q.size(3))), options.causal};
  // Laid out [B, T, H, D], so that the heads join without a copy.
  const Tensor y =
      permute(Tensor::empty({b, t, h, q.size(3)}, {.dtype = q.dtype(), .device = q.device()}),
              {0, 2, 1, 3});
  if (y.numel() == 0) return record_constant("sdpa", y, {&q, &k, &v});
  if (k.numel() == 0)  // no query sees a key
    return record_constant("sdpa", zeros(y.shape(), {.dtype = y.dtype(), .device = y.device()}),
                           {&q, &k, &v});
  const Tensor l =
      Tensor::empty({b, h, t}, {.dtype = accumulator_of(q.dtype()), .device = q.device()});
  const Tensor rows[] = {with_unit_stride(q), with_unit_stride(k), with_unit_stride(v),
                         positions.detach()};
  const View in[] = {make_view(rows[0]), make_view(rows[1]), make_view(rows[2]),
                     make_view(rows[3])};
  const View out[] = {make_view(y), make_view(l)};
  if (!run_fused(q.device(), kSdpa, in, out, attributes_of(attributes), q.dtype()))
    return sdpa_composite(q, k, v, positions, attributes);
  return record("sdpa", y, {&q, &k, &v, &positions}, kKeepInputs | kKeepOutput,
                [l, attributes](const RuleContext& c, std::span<Tensor> gradients) {
                  if (!grad_enabled() && sdpa_gradient(c, l, attributes, gradients)) return;
                  differentiate(c, gradients, [&](const std::vector<Tensor>& x) {
                    return sdpa_composite(x[0], x[1], x[2], x[3], attributes);
                  });
                });
}

}  // namespace wick
