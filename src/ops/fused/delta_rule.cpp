#include "wick/ops/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/fused/token_chunks.h"
#include "wick/abi/ops/delta_rule.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/scan.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The checked operands of a call; q, k and v in the caller's dtype, decay and beta in this or the
/// state's, the others in the state's.
struct Operands {
  Tensor q, k, v, decay, beta;
  Tensor a_log, dt_bias, state, lengths;  // may be empty
  double scale, qk_norm_eps;
  bool sigmoid_beta, tiled_heads;

  int64_t heads() const { return v.size(2); }
};

/// Queries or keys [B, T, H, K] as the rule takes them, in the state's dtype.
Tensor directions(const Operands& of, const Tensor& x) {
  Tensor y = cast(x, accumulator_of(x.dtype()));
  if (of.qk_norm_eps > 0)
    y = y / sqrt(sum(square(y), {.dims = {-1}, .keepdim = true}) + of.qk_norm_eps);
  if (x.size(2) == of.heads()) return y;
  const int64_t times = of.heads() / x.size(2);
  return of.tiled_heads ? tile(y, {1, 1, times, 1}) : repeat_interleave(y, times, 2);
}
/// The logarithms [B, T, H] of the factors on the state.
Tensor logarithms_of(const Operands& of) {
  const Tensor decay = cast(of.decay, accumulator_of(of.q.dtype()));
  return of.a_log ? softplus(decay + of.dt_bias) * -exp(of.a_log) : decay;
}
Tensor shares(const Operands& of) {  // [B, T, H]
  const Tensor beta = cast(of.beta, accumulator_of(of.q.dtype()));
  return of.sigmoid_beta ? sigmoid(beta) : beta;
}

/// (I + a)⁻¹ of strictly lower triangular matrices a [..., L, L]. The inverses x of blocks of size s
/// on the diagonal make those of size 2 s: x - x m x, where m are a's blocks of size s beside them.
/// That is as sound as forward substitution, unlike the series of powers of a.
Tensor inverse_beside_unit(const Tensor& a) {
  const int64_t n = a.size(-1);
  const Tensor row = arange(n, {.dtype = DType::kI64, .device = a.device()});
  Tensor x = broadcast_to(eye(n, {.dtype = a.dtype(), .device = a.device()}), a.shape());
  const auto same_block = [&](int64_t size) {
    const Tensor block = floor_divide(row, size);
    return eq(unsqueeze(block, 1), block);
  };
  for (int64_t size = 1; size < n; size *= 2) {
    const Tensor beside = logical_and(same_block(2 * size), logical_not(same_block(size)));
    const Tensor m = where(beside, a, 0);
    x = size == 1 ? x - m : x - matmul(matmul(x, m), x);
  }
  return x;
}

/// Token j adds k_j u_jᵀ to the state. Within a chunk, u solves
/// u_i + beta_i sum over j < i of decay(j to i) (k_i k_j) u_j = beta_i (v_i - decay(start to i) S₀ᵀ k_i).
TensorAndState delta_rule_composite(const Operands& of, int64_t chunk) {
  const DType dtype = accumulator_of(of.q.dtype());
  const int64_t batch = of.q.size(0), h = of.heads(), width = of.q.size(3);
  const TokenChunks chunks(of.q.size(1), chunk, of.lengths);
  const int64_t l = chunks.length();
  const Tensor q = chunks.split(directions(of, of.q)) * of.scale;  // [B, C, H, L, K]
  const Tensor k = chunks.split(directions(of, of.k));             // [B, C, H, L, K]
  const Tensor v = chunks.split(cast(of.v, dtype));                // [B, C, H, L, V]
  const Tensor beta = chunks.split(unsqueeze(shares(of), -1));     // [B, C, H, L, 1]
  const Tensor logarithms =
      squeeze(chunks.split(unsqueeze(logarithms_of(of), -1)), -1);       // [B, C, H, L]
  const Tensor between = decays_between(logarithms);                     // [B, C, H, L, L]
  const Tensor from_start = unsqueeze(exp(cumsum(logarithms, -1)), -1);  // [B, C, H, L, 1]
  const Tensor to_end = transpose(narrow(between, -2, l - 1, 1));        // [B, C, H, L, 1]
  const Tensor written = k * beta;
  const Tensor inverse =
      inverse_beside_unit(tril(matmul(written, transpose(k)) * between, -1));  // [B, C, H, L, L]
  const Tensor of_values = matmul(inverse, v * beta);                          // [B, C, H, L, V]
  const Tensor of_state = matmul(inverse, written * from_start);               // [B, C, H, L, K]
  const Tensor scores = matmul(q, transpose(k)) * between;                     // [B, C, H, L, L]
  const Tensor reads = q * from_start, left = transpose(k * to_end);           // [B, C, H, K, L]
  const Tensor kept = narrow(from_start, -2, l - 1, 1);                        // [B, C, H, 1, 1]
  Tensor state =
      of.state ? of.state
               : zeros({batch, h, width, of.v.size(3)}, {.dtype = dtype, .device = of.q.device()});
  std::vector<Tensor> y;
  for (int64_t i = 0; i < chunks.count(); i++) {
    const auto here = [i](const Tensor& all) { return squeeze(narrow(all, 1, i, 1), 1); };
    const Tensor u = here(of_values) - matmul(here(of_state), state);
    y.push_back(matmul(here(reads), state) + matmul(here(scores), u));
    state = state * here(kept) + matmul(here(left), u);
  }
  return {cast(chunks.join(stack(y, 1)), of.q.dtype()), state};
}

Operands checked(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& decay,
                 const Tensor& beta, const DeltaRuleOptions& options) {
  constexpr const char* op = "gated_delta_rule";
  check_floating(op, q);
  check(q.rank() == 4, ErrorCode::kShapeMismatch, op, "expected q [B, T, G, K], got ", q.shape());
  for (const Tensor* of : {&k, &v}) {
    check_defined(op, *of);
    check_same_device(op, q, *of);
    check(of->dtype() == q.dtype(), ErrorCode::kDTypeMismatch, op,
          "expected q, k and v of one dtype, got ", dtype_name(q.dtype()), " and ",
          dtype_name(of->dtype()));
  }
  check(k.shape() == q.shape(), ErrorCode::kShapeMismatch, op, "expected k of q's shape ",
        q.shape(), ", got ", k.shape());
  check(v.rank() == 4 && v.size(0) == q.size(0) && v.size(1) == q.size(1) && q.size(2) > 0 &&
            v.size(2) % q.size(2) == 0,
        ErrorCode::kShapeMismatch, op,
        "expected v [B, T, H, V] with B and T of q and H a multiple of its heads, got q ",
        q.shape(), ", v ", v.shape());
  check_chunk(op, options.chunk);
  check(options.qk_norm_eps >= 0, ErrorCode::kInvalidArgument, op,
        "expected a qk_norm_eps of at least 0, got ", options.qk_norm_eps);
  check(bool(options.a_log) == bool(options.dt_bias), ErrorCode::kInvalidArgument, op,
        "expected both a_log and dt_bias or neither, got only ",
        options.a_log ? "a_log" : "dt_bias");
  const int64_t h = v.size(2);
  const Shape of_heads{q.size(0), q.size(1), h}, of_state{q.size(0), h, q.size(3), v.size(3)};
  Operands of{
      q,
      k,
      v,
      checked_either(op, "decay", decay, of_heads, q),
      checked_either(op, "beta", beta, of_heads, q),
      options.a_log ? checked_operand(op, "a_log", options.a_log, {h}, q) : Tensor(),
      options.dt_bias ? checked_operand(op, "dt_bias", options.dt_bias, {h}, q) : Tensor(),
      options.state ? checked_operand(op, "state", options.state, of_state, q) : Tensor(),
      checked_lengths(op, options.lengths, q),
      options.scale != 0 ? options.scale : 1 / std::sqrt(double(std::max<int64_t>(q.size(3), 1))),
      options.qk_norm_eps,
      options.sigmoid_beta,
      options.tiled_heads};
  if (of.decay.dtype() != of.beta.dtype())
    for (Tensor* x : {&of.decay, &of.beta}) *x = cast(*x, accumulator_of(q.dtype()));
  return of;
}

bool run_kernel(const Operands& of, const TensorAndState& to) {
  if (!wants_kernel()) return false;
  const Tensor constants = of.a_log ? as_rows({of.a_log, of.dt_bias}) : to.state;
  const Tensor any_lengths = of.lengths ? of.lengths : first_positions(1, 1, of.q.device());
  const DeltaRuleAttributes attributes{.scale = of.scale,
                                       .qk_norm_eps = of.qk_norm_eps,
                                       .has_gate = bool(of.a_log),
                                       .has_sigmoid = of.sigmoid_beta,
                                       .is_tiled = of.tiled_heads,
                                       .has_state = bool(of.state),
                                       .has_lengths = bool(of.lengths)};
  return run_fused(
      kGatedDeltaRule,
      {unit_stride(of.q), unit_stride(of.k), unit_stride(of.v), as_is(of.decay), as_is(of.beta),
       as_is(constants), contiguous(of.state ? of.state : to.state), as_is(any_lengths)},
      {as_is(to.y), as_is(to.state)}, attributes_of(attributes));
}

}  // namespace

TensorAndState gated_delta_rule(const Tensor& q, const Tensor& k, const Tensor& v,
                                const Tensor& decay, const Tensor& beta,
                                const DeltaRuleOptions& options) {
  const Calling calling("gated_delta_rule");
  const Operands of = checked(q, k, v, decay, beta, options);
  const Shape state_shape{q.size(0), of.heads(), q.size(3), v.size(3)};
  const TensorOptions y_options{.dtype = q.dtype(), .device = q.device()};
  const TensorOptions state_options{.dtype = accumulator_of(q.dtype()), .device = q.device()};
  if (q.size(1) == 0)
    return {record_constant("gated_delta_rule", Tensor::empty(v.shape(), y_options), {&q, &k, &v}),
            of.state ? of.state : zeros(state_shape, state_options)};
  const bool is_taped =
      recording({&of.q, &of.k, &of.v, &of.decay, &of.beta, &of.a_log, &of.dt_bias, &of.state});
  if (!is_taped && numel(state_shape) > 0) {
    const TensorAndState result{
        Tensor::empty(v.shape(), y_options),
        new_state(options.overwrites_state, of.state, state_shape, state_options, q.size(1))};
    if (run_kernel(of, result)) return result;
  }
  return delta_rule_composite(of, options.chunk);
}

}  // namespace wick
