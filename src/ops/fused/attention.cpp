#include "wick/ops/attention.h"

#include <cmath>
#include <limits>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/attention.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();  // the score of such a key

/// softmax over the last dim; 0 where all scores are kUnseen.
Tensor softmax_of_seen(const Tensor& scores) {
  const Tensor sees = ne(amax(scores.detach(), {.dims = {-1}, .keepdim = true}), kUnseen);
  return where(sees, softmax(where(sees, scores, 0)), 0);
}

/// Whether a query attends to a key [B, 1, 1, T, S], by the queries' positions [B, T].
Tensor seen_keys(const Tensor& positions, int64_t keys, int64_t window) {
  const Tensor key = arange(keys, {.dtype = DType::kI64, .device = positions.device()});
  const Tensor position = reshape(positions, {positions.size(0), 1, 1, positions.size(1), 1});
  const Tensor seen = le(key, position);
  return window > 0 ? logical_and(seen, gt(key, position - window)) : seen;
}

/// bias may be empty, positions too, unless a.causal.
Tensor sdpa_composite(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions,
                      const Tensor& bias, SdpaAttributes a) {
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2), d = q.size(3), g = k.size(1);
  const DType dtype = accumulator_of(q.dtype());
  const Tensor queries = reshape(cast(q, dtype), {b, g, h / g, t, d});
  const Tensor keys = unsqueeze(cast(k, dtype), 2),
               values = unsqueeze(cast(v, dtype), 2);          // [B, G, 1, S, D]
  Tensor scores = matmul(queries, transpose(keys)) * a.scale;  // [B, G, H / G, T, S]
  if (a.soft_cap > 0) scores = tanh(scores / a.soft_cap) * a.soft_cap;
  if (a.causal) scores = where(seen_keys(positions, k.size(2), a.window), scores, kUnseen);
  if (bias) scores = scores + reshape(bias, scores.shape());
  const bool all_see = !bias && a.window == 0;
  const Tensor weights = all_see ? softmax(scores) : softmax_of_seen(scores);
  return cast(reshape(matmul(weights, values), {b, h, t, v.size(3)}), q.dtype());
}

/// The gradients of q, k and v, computed by the kernel.
bool gradient(const RuleContext& c, std::span<Tensor> g, const Tensor& l,
              const SdpaAttributes& attributes) {
  for (int i = 0; i < 3; i++) g[size_t(i)] = empty_transposed(c.input_shape(i), c.input(i));
  return run_fused(kSdpaGradient,
                   {unit_stride(c.gradient), unit_stride(c.input(0)), unit_stride(c.input(1)),
                    unit_stride(c.input(2)), as_is(c.input(3)), as_is(c.output()), as_is(l)},
                   {as_is(g[0]), as_is(g[1]), as_is(g[2])}, attributes_of(attributes));
}

/// The numbers that a mask adds to the scores [B, H, T, S], a broadcast view.
Tensor bias_of(const Tensor& mask, const Tensor& q, int64_t keys) {
  const Shape scores{q.size(0), q.size(1), q.size(2), keys};
  check_same_device("sdpa", q, mask);
  check(mask.dtype() == DType::kBool || is_floating(mask.dtype()), ErrorCode::kDTypeMismatch,
        "sdpa", "expected a mask of bool or floating, got ", dtype_name(mask.dtype()));
  Dims strides;
  check(broadcast_strides(mask.layout(), scores, &strides), ErrorCode::kShapeMismatch, "sdpa",
        "expected a mask that broadcasts to ", scores, ", got ", mask.shape());
  const DType dtype = accumulator_of(q.dtype());
  const TensorOptions options{.dtype = dtype, .device = q.device()};
  return broadcast_to(
      mask.dtype() == DType::kBool ? where(mask, zeros({}, options), kUnseen) : cast(mask, dtype),
      scores);
}

}  // namespace

Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v, const SdpaOptions& options) {
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
  Tensor positions;
  if (options.positions) {
    check(options.is_causal, ErrorCode::kInvalidArgument, "sdpa",
          "expected is_causal with positions: without it a query attends to every key");
    check_same_device("sdpa", q, options.positions);
    positions = checked_positions("sdpa", options.positions, b, t);
  }
  const Tensor bias = options.mask ? bias_of(options.mask, q, k.size(2)) : Tensor();
  check(options.window >= 0 && options.soft_cap >= 0, ErrorCode::kInvalidArgument, "sdpa",
        "expected a window and a soft cap of at least 0, got ", options.window, " and ",
        options.soft_cap);
  check(options.window == 0 || options.is_causal, ErrorCode::kInvalidArgument, "sdpa",
        "expected is_causal with a window: it is counted back from the query's position");
  const SdpaAttributes attributes{
      .scale = options.scale != 0 ? options.scale : 1 / std::sqrt(double(q.size(3))),
      .soft_cap = options.soft_cap,
      .window = options.window,
      .causal = options.is_causal};
  // Laid out as [B, T, H, D], so that joining the heads needs no copy.
  const Tensor y = empty_transposed({b, h, t, q.size(3)}, q);
  if (k.numel() == 0)  // no query attends to a key
    return record_constant("sdpa", zeros(y.shape(), {.dtype = y.dtype(), .device = y.device()}),
                           {&q, &k, &v});
  if (!positions) positions = first_positions(b, t, q.device());
  const Tensor l =
      Tensor::empty({b, h, t}, {.dtype = accumulator_of(q.dtype()), .device = q.device()});
  if (bias)
    return fused(
        {.op = kSdpaMasked,
         .inputs = {&q, &k, &v, &positions, &bias},
         .in = {unit_stride(q), unit_stride(k), unit_stride(v), as_is(positions), as_is(bias)},
         .out = {as_is(y), as_is(l)},
         .attributes = attributes_of(attributes),
         .composite = [attributes](const auto& in) {
           return sdpa_composite(in[0], in[1], in[2], in[3], in[4], attributes);
         }});
  return fused({.op = kSdpa,
                .inputs = {&q, &k, &v, &positions},
                .in = {unit_stride(q), unit_stride(k), unit_stride(v), as_is(positions)},
                .out = {as_is(y), as_is(l)},
                .attributes = attributes_of(attributes),
                .composite =
                    [attributes](const auto& in) {
                      return sdpa_composite(in[0], in[1], in[2], in[3], {}, attributes);
                    },
                .keep = kKeepInputs | kKeepOutput,
                .gradient = [l, attributes](const auto& c,
                                            auto g) { return gradient(c, g, l, attributes); }});
}

}  // namespace wick
