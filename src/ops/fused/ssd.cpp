#include "wick/ops/ssd.h"

#include <cmath>
#include <vector>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/fused/token_chunks.h"
#include "wick/abi/ops/ssd.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/matmul.h"
#include "wick/ops/scan.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The checked operands of a call; x, b and c in the caller's dtype, dt in this or the state's, the
/// others in the state's.
struct Operands {
  Tensor x, dt, a, b, c;
  Tensor d, dt_bias, state, lengths;  // may be empty
  std::array<double, 2> step_limit;
};

/// The step sizes [B, T, H].
Tensor steps(const Operands& of) {
  const Tensor dt = cast(of.dt, accumulator_of(of.x.dtype()));
  if (!of.dt_bias) return dt;
  const Tensor step = softplus(dt + of.dt_bias);
  const auto [least, greatest] = of.step_limit;
  // Steps are not below 0, and most callers do not limit them.
  return least > 0 || std::isfinite(greatest) ? clamp(step, {.min = least, .max = greatest}) : step;
}

/// Within a chunk, y_i is the sum over j <= i of decay(j to i) (c_i b_j) dt_j x_j, and what is left of
/// the state before the chunk is added.
TensorAndState ssd_composite(const Operands& of, int64_t chunk) {
  const DType dtype = accumulator_of(of.x.dtype());
  const int64_t batch = of.x.size(0), h = of.x.size(2), p = of.x.size(3);
  const int64_t g = of.b.size(2), r = h / g, n = of.b.size(3);  // r: heads of a group
  const TokenChunks chunks(of.x.size(1), chunk, of.lengths);
  const int64_t count = chunks.count(), l = chunks.length();
  const Tensor x = chunks.split(cast(of.x, dtype));                      // [B, C, H, L, P]
  const Tensor b = unsqueeze(chunks.split(cast(of.b, dtype)), 3);        // [B, C, G, 1, L, N]
  const Tensor c = unsqueeze(chunks.split(cast(of.c, dtype)), 3);        // [B, C, G, 1, L, N]
  const Tensor dt = chunks.split(unsqueeze(steps(of), -1));              // [B, C, H, L, 1]
  const Tensor logarithms = squeeze(dt * reshape(of.a, {h, 1, 1}), -1);  // [B, C, H, L]
  const Tensor between =
      reshape(decays_between(logarithms), {batch, count, g, r, l, l});  // [B, C, G, R, L, L]
  const Tensor to_end = transpose(narrow(between, -2, l - 1, 1));       // [B, C, G, R, L, 1]
  const Tensor from_start =
      exp(reshape(cumsum(logarithms, -1), {batch, count, g, r, l, 1}));  // [B, C, G, R, L, 1]
  const Tensor written = reshape(x * dt, {batch, count, g, r, l, p});    // [B, C, G, R, L, P]
  const Tensor added = matmul(transpose(written * to_end), b);           // [B, C, G, R, P, N]
  const Tensor kept = narrow(from_start, -2, l - 1, 1);                  // [B, C, G, R, 1, 1]
  Tensor state = of.state ? reshape(of.state, {batch, g, r, p, n})
                          : zeros({batch, g, r, p, n}, {.dtype = dtype, .device = x.device()});
  std::vector<Tensor> before;
  for (int64_t i = 0; i < count; i++) {
    before.push_back(state);
    state = state * squeeze(narrow(kept, 1, i, 1), 1) + squeeze(narrow(added, 1, i, 1), 1);
  }
  const Tensor of_before = matmul(c, transpose(stack(before, 1))) * from_start;
  const Tensor of_chunk = matmul(matmul(c, transpose(b)) * between, written);
  Tensor y = reshape(of_chunk + of_before, {batch, count, h, l, p});
  if (of.d) y = y + x * reshape(of.d, {h, 1, 1});
  return {cast(chunks.join(y), of.x.dtype()), reshape(state, {batch, h, p, n})};
}

Operands checked(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b,
                 const Tensor& c, const SsdOptions& options) {
  constexpr const char* op = "ssd";
  check_floating(op, x);
  check(x.rank() == 4, ErrorCode::kShapeMismatch, op, "expected x [B, T, H, P], got ", x.shape());
  const int64_t h = x.size(2);
  for (const Tensor* of : {&b, &c}) {
    check_defined(op, *of);
    check_same_device(op, x, *of);
    check(of->dtype() == x.dtype(), ErrorCode::kDTypeMismatch, op,
          "expected x, b and c of one dtype, got ", dtype_name(x.dtype()), " and ",
          dtype_name(of->dtype()));
    check(of->rank() == 4 && of->shape() == b.shape() && of->size(0) == x.size(0) &&
              of->size(1) == x.size(1) && of->size(2) > 0 && h % of->size(2) == 0,
          ErrorCode::kShapeMismatch, op,
          "expected b and c [B, T, G, N] with B and T of x and G a divisor of its heads, got x ",
          x.shape(), ", b ", b.shape(), ", c ", c.shape());
  }
  check_chunk(op, options.chunk);
  check(options.step_limit[0] <= options.step_limit[1], ErrorCode::kInvalidArgument, op,
        "expected limits of the step in order, got ", options.step_limit[0], " and ",
        options.step_limit[1]);
  const Shape of_state{x.size(0), h, x.size(3), b.size(3)};
  return {x,
          checked_either(op, "dt", dt, {x.size(0), x.size(1), h}, x),
          checked_operand(op, "a", a, {h}, x),
          b,
          c,
          options.d ? checked_operand(op, "d", options.d, {h}, x) : Tensor(),
          options.dt_bias ? checked_operand(op, "dt_bias", options.dt_bias, {h}, x) : Tensor(),
          options.state ? checked_operand(op, "state", options.state, of_state, x) : Tensor(),
          checked_lengths(op, options.lengths, x),
          options.step_limit};
}

bool run_kernel(const Operands& of, const TensorAndState& to) {
  if (!wants_kernel()) return false;
  const Tensor constants = as_rows({of.a, of.d, of.dt_bias});
  const Tensor any_lengths = of.lengths ? of.lengths : first_positions(1, 1, of.x.device());
  const SsdAttributes attributes{.least_step = of.step_limit[0],
                                 .greatest_step = of.step_limit[1],
                                 .has_d = bool(of.d),
                                 .has_dt_bias = bool(of.dt_bias),
                                 .has_state = bool(of.state),
                                 .has_lengths = bool(of.lengths)};
  return run_fused(
      kSsd,
      {unit_stride(of.x), as_is(of.dt), unit_stride(of.b), unit_stride(of.c), as_is(constants),
       contiguous(of.state ? of.state : constants), as_is(any_lengths)},
      {as_is(to.y), as_is(to.state)}, attributes_of(attributes));
}

}  // namespace

TensorAndState ssd(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b,
                   const Tensor& c, const SsdOptions& options) {
  const Calling calling("ssd");
  const Operands of = checked(x, dt, a, b, c, options);
  const Shape state_shape{x.size(0), x.size(2), x.size(3), b.size(3)};
  const TensorOptions state_options{.dtype = accumulator_of(x.dtype()), .device = x.device()};
  if (x.size(1) == 0)
    return {record_constant(
                "ssd", Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()}), {&x}),
            of.state ? of.state : zeros(state_shape, state_options)};
  const bool is_taped =
      recording({&of.x, &of.dt, &of.a, &of.b, &of.c, &of.d, &of.dt_bias, &of.state});
  if (!is_taped && numel(state_shape) > 0) {
    const TensorAndState result{
        Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()}),
        new_state(options.overwrites_state, of.state, state_shape, state_options, x.size(1))};
    if (run_kernel(of, result)) return result;
  }
  return ssd_composite(of, options.chunk);
}

}  // namespace wick
