#include "wick/ops/recurrence.h"

#include <algorithm>
#include <vector>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/sequences.h"
#include "wick/abi/ops/recurrence.h"
#include "wick/ops/arrange.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// Tokens that the composite of linear_scan takes at once.
constexpr int64_t kPart = 64;

TensorAndState conv_composite(const Tensor& x, const Tensor& weight, const CausalConv1dOptions& o) {
  const int64_t b = x.size(0), t = x.size(1), e = x.size(2), taps = weight.size(1);
  const DType dtype = accumulator_of(x.dtype());
  const Tensor before =
      o.state ? o.state : zeros({b, taps - 1, e}, {.dtype = x.dtype(), .device = x.device()});
  const Tensor own = o.lengths ? where(unsqueeze(is_token(o.lengths, t), 2), x, 0) : x;
  const Tensor inputs = taps > 1 ? cat({before, own}, 1) : own;  // [B, K - 1 + T, E]
  const Tensor wide = cast(inputs, dtype), factors = cast(weight, dtype);
  Tensor y = o.bias ? cast(o.bias, dtype) : Tensor();
  for (int64_t k = 0; k < taps; k++) {
    const Tensor term = narrow(wide, 1, k, t) * select(factors, 1, k);
    y = y ? y + term : term;
  }
  y = cast(o.silu ? silu(y) : y, x.dtype());
  if (!o.lengths || taps == 1) return {y, narrow(inputs, 1, inputs.size(1) - (taps - 1), taps - 1)};
  const Tensor rows = unsqueeze(within(o.lengths, t), 1) +
                      arange(taps - 1, {.dtype = DType::kI64, .device = x.device()});
  return {y, gather(inputs, 1, broadcast_to(unsqueeze(rows, 2), {b, taps - 1, e}))};
}

/// Inclusive scan of y[t] = a[t] y[t - 1] + b[t] along dim 1 of [B, T, E], by doubling: each pair
/// of pieces of 1, 2, 4 ... tokens becomes one piece.
Tensor scanned(Tensor a, Tensor b) {
  const int64_t tokens = a.size(1);
  for (int64_t piece = 1; piece < tokens; piece *= 2) {
    const int64_t later = tokens - piece;
    const Tensor own_a = narrow(a, 1, piece, later);
    b = cat({narrow(b, 1, 0, piece), narrow(b, 1, piece, later) + own_a * narrow(b, 1, 0, later)},
            1);
    if (2 * piece < tokens) a = cat({narrow(a, 1, 0, piece), own_a * narrow(a, 1, 0, later)}, 1);
  }
  return b;
}

TensorAndState scan_composite(const Tensor& decay, const Tensor& input,
                              const LinearScanOptions& o) {
  const int64_t tokens = decay.size(1);
  const DType dtype = accumulator_of(decay.dtype());
  Tensor a = cast(decay, dtype), b = cast(input, dtype), state = o.state;
  if (o.lengths) {
    const Tensor is_own = unsqueeze(is_token(o.lengths, tokens), 2);
    a = where(is_own, a, 1);
    b = where(is_own, b, 0);
  }
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < tokens; first += kPart) {
    const int64_t count = std::min(kPart, tokens - first);
    const Tensor part_a = narrow(a, 1, first, count);
    Tensor part_b = narrow(b, 1, first, count);
    if (state) {
      const Tensor start = narrow(part_a, 1, 0, 1) * unsqueeze(state, 1) + narrow(part_b, 1, 0, 1);
      part_b = count > 1 ? cat({start, narrow(part_b, 1, 1, count - 1)}, 1) : start;
    }
    parts.push_back(scanned(part_a, part_b));
    state = select(parts.back(), 1, count - 1);
  }
  return {cast(parts.size() == 1 ? parts[0] : cat(parts, 1), decay.dtype()), state};
}

}  // namespace

TensorAndState causal_conv1d(const Tensor& x, const Tensor& weight,
                             const CausalConv1dOptions& options) {
  constexpr const char* kName = "causal_conv1d";
  const Calling calling(kName);
  check_floating(kName, x);
  check_defined(kName, weight);
  check(x.rank() == 3 && weight.rank() == 2 && weight.size(1) >= 1, ErrorCode::kShapeMismatch,
        kName, "expected x [B, T, E] and weight [E, K] with K of at least 1, got ", x.shape(),
        " and ", weight.shape());
  const int64_t b = x.size(0), e = x.size(2), taps = weight.size(1);
  check_operand(kName, "weight", weight, {e, taps}, x.dtype(), x);
  CausalConv1dOptions o = options;
  if (o.bias) check_operand(kName, "bias", o.bias, {e}, x.dtype(), x);
  if (o.state) check_operand(kName, "state", o.state, {b, taps - 1, e}, x.dtype(), x);
  o.lengths = checked_lengths(kName, o.lengths, b, x);
  const TensorOptions like{.dtype = x.dtype(), .device = x.device()};
  const Tensor y = Tensor::empty(x.shape(), like);
  if (y.numel() == 0)
    return without_tokens(kName, y, o.state, {b, taps - 1, e}, x.dtype(), {&x, &weight});
  if (!recording({&x, &weight, &o.bias, &o.state})) {
    const Tensor state = new_state(o.overwrites_state, o.state, {b, taps - 1, e}, like, x.size(1)),
                 lengths = o.lengths ? o.lengths : any_lengths(x.device());
    const CausalConv1dAttributes attributes{bool(o.bias), bool(o.state), bool(o.lengths), o.silu};
    if (run_fused(kCausalConv1d,
                  {unit_stride(x), contiguous(weight), contiguous(o.bias ? o.bias : weight),
                   contiguous(o.state ? o.state : weight), contiguous(lengths)},
                  {as_is(y), as_is(state)}, attributes_of(attributes)))
      return {y, state};
  }
  return conv_composite(x, weight, o);
}

TensorAndState linear_scan(const Tensor& decay, const Tensor& input,
                           const LinearScanOptions& options) {
  constexpr const char* kName = "linear_scan";
  const Calling calling(kName);
  check_floating(kName, decay);
  check(decay.rank() == 3, ErrorCode::kShapeMismatch, kName, "expected decay [B, T, E], got ",
        decay.shape());
  check_operand(kName, "input", input, decay.shape(), decay.dtype(), decay);
  const int64_t b = decay.size(0), e = decay.size(2);
  const DType wide = accumulator_of(decay.dtype());
  LinearScanOptions o = options;
  if (o.state) check_operand(kName, "state", o.state, {b, e}, wide, decay);
  o.lengths = checked_lengths(kName, o.lengths, b, decay);
  const Tensor y = Tensor::empty(decay.shape(), {.dtype = decay.dtype(), .device = decay.device()});
  if (y.numel() == 0) return without_tokens(kName, y, o.state, {b, e}, wide, {&decay, &input});
  if (!recording({&decay, &input, &o.state})) {
    const Tensor state = new_state(o.overwrites_state, o.state, {b, e},
                                   {.dtype = wide, .device = decay.device()}, decay.size(1)),
                 lengths = o.lengths ? o.lengths : any_lengths(decay.device());
    const LinearScanAttributes attributes{bool(o.state), bool(o.lengths)};
    if (run_fused(kLinearScan,
                  {unit_stride(decay), unit_stride(input), contiguous(o.state ? o.state : state),
                   contiguous(lengths)},
                  {as_is(y), as_is(state)}, attributes_of(attributes)))
      return {y, state};
  }
  return scan_composite(decay, input, o);
}

}  // namespace wick
