#include "wick/ops/attention.h"

#include <cmath>
#include <limits>

#include "ops/dtypes.h"
#include "ops/fused.h"
#include "ops/tape.h"
#include "wick/abi/ops/attention.h"
#include "wick/abi/ops/rope.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/indexing.h"
#include "wick/ops/loss.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void check_positions(const char* op, const Tensor& positions, int64_t batch, int64_t length) {
  check_defined(op, positions);
  check(positions.dtype() == DType::kI64, ErrorCode::kDTypeMismatch, op,
        "expected positions of i64, got ", dtype_name(positions.dtype()));
  check(positions.shape() == Shape({batch, length}), ErrorCode::kShapeMismatch, op,
        "expected positions ", Shape({batch, length}), ", got ", positions.shape());
}

/// The tensor, copied if its inner stride is not 1.
Tensor with_unit_stride(const Tensor& x) {
  return x.size(-1) <= 1 || x.strides().back() == 1 ? x.detach() : make_contiguous(x);
}

// ---- rope

Tensor rope_composite(const Tensor& x, const Tensor& cos, const Tensor& sin,
                      const Tensor& positions, RopeAttributes a) {
  const int64_t b = x.size(0), t = x.size(1), h = x.size(2), half = x.size(3) / 2;
  const Tensor ids = reshape(positions, {b * t});
  const Tensor c = reshape(index_select(cos, 0, ids), {b, t, 1, half});
  const Tensor s = reshape(index_select(a.inverse ? -sin : sin, 0, ids), {b, t, 1, half});
  // [..., 2, half] for pairs half apart, [..., half, 2] for neighbours
  const int64_t dim = a.interleaved ? 4 : 3;
  const Tensor pairs = reshape(cast(x, cos.dtype()),
                               a.interleaved ? Shape{b, t, h, half, 2} : Shape{b, t, h, 2, half});
  const Tensor x1 = squeeze(narrow(pairs, dim, 0, 1), dim),
               x2 = squeeze(narrow(pairs, dim, 1, 1), dim);
  const Tensor y = cat({unsqueeze(x1 * c - x2 * s, dim), unsqueeze(x2 * c + x1 * s, dim)}, dim);
  return cast(reshape(y, x.shape()), x.dtype());
}

Tensor rope_either_way(const Tensor& x, const Tensor& cos, const Tensor& sin,
                       const Tensor& positions, RopeAttributes attributes) {
  const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  if (y.numel() == 0) return record_constant("rope", y, {&x});
  const Tensor rows = with_unit_stride(x), c = make_contiguous(cos), s = make_contiguous(sin),
               p = positions.detach();
  const View in[] = {make_view(rows), make_view(c), make_view(s), make_view(p)};
  const View out = make_view(y);
  if (!run_fused(x.device(), kRope, in, {&out, 1}, attributes_of(attributes), x.dtype()))
    return rope_composite(x, cos, sin, positions, attributes);
  const RopeAttributes back{attributes.interleaved, !attributes.inverse};
  return record("rope", y, {&x, &cos, &sin, &positions}, kKeepInput1 | kKeepInput2 | kKeepInput3,
                [back](const RuleContext& c, std::span<Tensor> g) {
                  g[0] = rope_either_way(c.gradient, c.input(1), c.input(2), c.input(3), back);
                });
}

// ---- attention

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

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
            const RopeOptions& options) {
  check_defined("rope", x);
  check_defined("rope", cos);
  check_defined("rope", sin);
  check_same_device("rope", x, cos);
  check_same_device("rope", x, sin);
  check(x.rank() == 4 && x.size(3) % 2 == 0, ErrorCode::kShapeMismatch, "rope",
        "expected x [B, T, H, D] with D even, got ", x.shape());
  check_positions("rope", positions, x.size(0), x.size(1));
  check_same_device("rope", x, positions);
  check(is_floating(x.dtype()) && cos.dtype() == accumulator_of(x.dtype()) &&
            sin.dtype() == cos.dtype(),
        ErrorCode::kDTypeMismatch, "rope", "expected tables of ",
        dtype_name(accumulator_of(x.dtype())), " for x of ", dtype_name(x.dtype()), ", got ",
        dtype_name(cos.dtype()));
  check(cos.rank() == 2 && cos.shape() == sin.shape() && cos.size(1) == x.size(3) / 2,
        ErrorCode::kShapeMismatch, "rope", "expected tables [P, ", x.size(3) / 2, "], got ",
        cos.shape(), " and ", sin.shape());
  return rope_either_way(x, cos.detach(), sin.detach(), positions, {options.interleaved, false});
}

RopeTables rope_tables(int64_t positions, int64_t head_dim, double theta,
                       const TensorOptions& options) {
  check(positions >= 0 && head_dim >= 0 && head_dim % 2 == 0, ErrorCode::kInvalidArgument,
        "rope_tables", "expected an even head_dim and positions of at least 0, got ", head_dim,
        " and ", positions);
  const int64_t half = head_dim / 2;
  std::vector<double> cos(size_t(positions * half)), sin(cos.size());
  for (int64_t p = 0; p < positions; p++)
    for (int64_t i = 0; i < half; i++) {
      // The frequency is rounded to f32 as every implementation in f32 has it, so that models agree
      // at large positions.
      const double frequency =
          options.dtype == DType::kF64
              ? std::pow(theta, -2.0 * double(i) / double(head_dim))
              : double(1.0f / std::pow(float(theta), float(2 * i) / float(head_dim)));
      const double angle = options.dtype == DType::kF64 ? double(p) * frequency
                                                        : double(float(p) * float(frequency));
      cos[size_t(p * half + i)] = std::cos(angle);
      sin[size_t(p * half + i)] = std::sin(angle);
    }
  return {cast(Tensor::from(cos, {positions, half}), options.dtype).to(options.device),
          cast(Tensor::from(sin, {positions, half}), options.dtype).to(options.device)};
}

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
