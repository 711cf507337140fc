#include "wick/ops/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/sequences.h"
#include "wick/abi/ops/linear_attention.h"
#include "wick/ops/arrange.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

constexpr const char* kName = "linear_attention";

/// Of more tokens the composite is faster, whose products run on matrix units: the kernel goes from
/// token to token.
constexpr int64_t kKernelTokens = 16;

/// The most elements of a head: their square is a number of features.
constexpr int64_t kMaxElements = 1 << 16;

/// phi of x [..., K]: [..., F].
Tensor features_of(const Tensor& x, FeatureMap map) {
  switch (map) {
    case FeatureMap::kElu:  // exp(x) for x <= 0
      return maximum(x, 0) + exp(minimum(x, 0));
    case FeatureMap::kTaylor: {
      const int64_t n = x.size(-1);
      const Tensor z = x * std::pow(double(n), -0.25);
      Shape flat = x.shape(), one = x.shape();
      flat[x.rank() - 1] = n * n;
      one[x.rank() - 1] = 1;
      const Tensor squares =
          reshape(unsqueeze(z, x.rank()) * unsqueeze(z, x.rank() - 1) * std::sqrt(0.5), flat);
      return cat({ones(one, {.dtype = x.dtype(), .device = x.device()}), z, squares}, -1);
    }
    default:
      return x;
  }
}

TensorAndState in_chunks(const Tensor& q, const Tensor& k, const Tensor& v,
                         const LinearAttentionOptions& o) {
  const int64_t b = q.size(0), t = q.size(1), h = q.size(2), n = q.size(3);
  const int64_t g = k.size(2), dv = v.size(3);
  const DType dtype = accumulator_of(q.dtype());
  const TensorOptions wide{.dtype = dtype, .device = q.device()};
  Tensor keys = transpose(cast(k, dtype), 1, 2);  // [B, G, T, K]
  Tensor values = transpose(cast(v, dtype), 1, 2);
  const Tensor queries = transpose(reshape(cast(q, dtype), {b, t, g, h / g, n}), 1, 2);
  values = cat({values, ones({b, g, t, 1}, wide)}, -1);  // [B, G, T, V + 1]
  Tensor is_own;                                         // [B, 1, T, 1]
  if (o.lengths) {
    is_own = reshape(is_token(o.lengths, t), {b, 1, t, 1});
    keys = where(is_own, keys, 0);
    values = where(is_own, values, 0);
  }
  Tensor state = o.state;
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < t; first += o.chunk) {
    const int64_t c = std::min(o.chunk, t - first);
    const auto part = [&](const Tensor& x) { return narrow(x, 2, first, c); };
    const Tensor phi_k = features_of(part(keys), o.map), own = part(values);
    const Tensor phi_q = transpose(features_of(part(queries), o.map), 2, 3);  // [B, G, R, c, F]
    const Tensor seen = le(arange(c, {.dtype = DType::kI64, .device = q.device()}),
                           unsqueeze(arange(c, {.dtype = DType::kI64, .device = q.device()}), 1));
    const Tensor scores = where(seen, matmul(phi_q, transpose(unsqueeze(phi_k, 2))), 0);
    Tensor y = matmul(scores, unsqueeze(own, 2));  // [B, G, R, c, V + 1]
    if (state) y = y + matmul(phi_q, unsqueeze(state, 2));
    const Tensor added = matmul(transpose(phi_k), own);
    state = state ? state + added : added;
    const Tensor sums = narrow(y, -1, 0, dv);
    parts.push_back(o.normalize ? sums / (narrow(y, -1, dv, 1) + o.eps) : sums);
  }
  Tensor y = parts.size() == 1 ? parts[0] : cat(parts, 3);  // [B, G, R, T, V]
  y = reshape(transpose(reshape(y, {b, h, t, dv}), 1, 2), {b, t, h, dv});
  if (is_own) y = where(reshape(is_own, {b, t, 1, 1}), y, 0);
  return {cast(y, q.dtype()), state};
}

}  // namespace

TensorAndState linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                const LinearAttentionOptions& options) {
  const Calling calling(kName);
  check_floating(kName, q);
  check_defined(kName, k);
  check_defined(kName, v);
  check(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, ErrorCode::kShapeMismatch, kName,
        "expected q [B, T, H, K], k [B, T, G, K] and v [B, T, G, V], got ", q.shape(), ", ",
        k.shape(), " and ", v.shape());
  const int64_t b = q.size(0), t = q.size(1), h = q.size(2), n = q.size(3), g = k.size(2),
                dv = v.size(3);
  check_operand(kName, "k", k, {b, t, g, n}, q.dtype(), q);
  check_operand(kName, "v", v, {b, t, g, dv}, q.dtype(), q);
  check(h >= 1 && g >= 1 && h % g == 0, ErrorCode::kShapeMismatch, kName,
        "expected H a multiple of G, both of at least 1, got q ", q.shape(), " and k ", k.shape());
  check(n >= 1 && n <= kMaxElements && dv <= kMaxElements, ErrorCode::kShapeMismatch, kName,
        "expected K of 1 to ", kMaxElements, " and V of at most as much, got q ", q.shape(),
        " and v ", v.shape());
  check(options.eps >= 0, ErrorCode::kInvalidArgument, kName, "expected eps of at least 0, got ",
        options.eps);
  check(options.chunk >= 1, ErrorCode::kInvalidArgument, kName,
        "expected chunk of at least 1, got ", options.chunk);
  const DType wide = accumulator_of(q.dtype());
  const Shape states{b, g, linear_attention_features(int32(options.map), n), dv + 1};
  LinearAttentionOptions o = options;
  if (o.state) check_operand(kName, "state", o.state, states, wide, q);
  o.lengths = checked_lengths(kName, o.lengths, b, q);
  const Tensor y = Tensor::empty({b, t, h, dv}, {.dtype = q.dtype(), .device = q.device()});
  if (b == 0 || t == 0) return without_tokens(kName, y, o.state, states, wide, {&q, &k, &v});
  const bool prefers_kernel = t <= kKernelTokens || !allows_composite();
  if (prefers_kernel && dv > 0 && !recording({&q, &k, &v, &o.state})) {
    const Tensor state = Tensor::empty(states, {.dtype = wide, .device = q.device()}),
                 lengths = o.lengths ? o.lengths : any_lengths(q.device());
    const LinearAttentionAttributes attributes{o.eps, int32(o.map), o.normalize, bool(o.state),
                                               bool(o.lengths)};
    if (run_fused(kLinearAttention,
                  {unit_stride(q), unit_stride(k), unit_stride(v),
                   contiguous(o.state ? o.state : state), contiguous(lengths)},
                  {as_is(y), as_is(state)}, attributes_of(attributes)))
      return {y, state};
  }
  return in_chunks(q, k, v, o);
}

}  // namespace wick
