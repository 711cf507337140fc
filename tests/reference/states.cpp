#include "states.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fused.h"
#include "sum.h"

namespace wick::reference {
namespace {

/// The roundings that matmul's bound gives a sum of n products.
Real of_sum(std::size_t n) { return 2 + std::log2(Real(std::max<std::size_t>(n, 1))); }

std::size_t size(const Array& x, std::size_t d) { return std::size_t(x.shape[d]); }

Result zeros(DType dtype, const Shape& shape) {
  const std::size_t n = std::size_t(numel(shape));
  return {{dtype, shape, std::vector<Real>(n)}, std::vector<Real>(n), 1};
}

/// How many tokens of sequence b enter the state.
std::size_t tokens_of(const Array* lengths, std::size_t b, std::size_t tokens) {
  if (!lengths) return tokens;
  return std::size_t(std::clamp<Real>(lengths->values[b], 0, Real(tokens)));
}

struct Doubtful {
  Real value, doubt;  // doubt: in roundings, as magnitudes are
};
/// softplus(x + bias), limited. Its slope is at most 1; the logarithm and its sum err by 5 roundings.
Doubtful step_size(Real x, Real bias, Real least, Real greatest) {
  const Real sum = x + bias, soft = std::max<Real>(sum, 0) + std::log1p(std::exp(-std::fabs(sum)));
  return {std::clamp(soft, least, greatest), std::fabs(sum) + 5 * soft};
}

/// -exp(a_log) softplus(x + bias). The exponential and the product err by 5 roundings.
Doubtful gate(Real x, Real a_log, Real bias) {
  const Doubtful step = step_size(x, bias, 0, std::numeric_limits<Real>::infinity());
  const Real factor = std::exp(a_log);
  return {-factor * step.value, factor * (step.doubt + (5 + std::fabs(a_log)) * step.value)};
}

Real norm(const std::vector<Real>& x) {
  Real squares = 0;
  for (const Real value : x) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

TensorAndState ssd(const Array& x, const Array& dt, const Array& a, const Array& b, const Array& c,
                   const Array* d, const Array* state, const Array* lengths, const Array* dt_bias,
                   Real least_step, Real greatest_step) {
  const std::size_t batch = size(x, 0), T = size(x, 1), H = size(x, 2), P = size(x, 3),
                    G = size(b, 2), N = size(b, 3);
  const Shape of_state{x.shape[0], x.shape[2], x.shape[3], b.shape[3]};
  TensorAndState all{zeros(x.dtype, x.shape), zeros(accumulator(x.dtype), of_state)};
  for (std::size_t row = 0; row < batch * H * P; row++) {
    const std::size_t p = row % P, h = row / P % H, s = row / P / H, g = h / (H / G);
    Real* const now = all.state.array.values.data() + row * N;
    std::vector<Real> sizes(N), doubts(N);  // of the terms of the state, and of their roundings
    for (std::size_t n = 0; n < N; n++) {
      now[n] = state ? state->values[row * N + n] : 0;
      sizes[n] = std::fabs(now[n]);
    }
    for (std::size_t t = 0; t < tokens_of(lengths, s, T); t++) {
      const Doubtful step = dt_bias ? step_size(dt.values[(s * T + t) * H + h], dt_bias->values[h],
                                                least_step, greatest_step)
                                    : Doubtful{dt.values[(s * T + t) * H + h], 0};
      const Real exponent = step.value * a.values[h], of_step = std::fabs(a.values[h]) * step.doubt;
      const Real decay = std::exp(exponent), value = x.values[((s * T + t) * H + h) * P + p];
      const std::size_t in_group = ((s * T + t) * G + g) * N;
      Sum y;
      Real doubt = 0;
      for (std::size_t n = 0; n < N; n++) {
        const Real of_x = value * b.values[in_group + n], term = step.value * of_x,
                   reads = c.values[in_group + n];
        // The exponential errs by its argument's rounding and 2 more, each product and sum by one.
        doubts[n] = decay * (doubts[n] + (std::fabs(exponent) + of_step + 3) * sizes[n]) +
                    3 * std::fabs(term) + step.doubt * std::fabs(of_x);
        sizes[n] = decay * sizes[n] + std::fabs(term);
        now[n] = decay * now[n] + term;
        y.add(now[n] * reads);
        doubt += std::fabs(reads) * (doubts[n] + of_sum(N + T) * sizes[n]);
      }
      if (d) {
        y.add(d->values[h] * value);
        doubt += 2 * std::fabs(d->values[h] * value);
      }
      const std::size_t at = ((s * T + t) * H + h) * P + p;
      all.y.array.values[at] = y.value();
      all.y.magnitude[at] = doubt;
    }
    for (std::size_t n = 0; n < N; n++)
      all.state.magnitude[row * N + n] = doubts[n] + of_sum(T) * sizes[n];
  }
  return all;
}

// Errors of a column of the state are bounded by their norm, which I - beta k kᵀ does not raise where
// beta |k|² <= 2: bounds of each element alone would double with every token.
TensorAndState gated_delta_rule(const Array& q, const Array& k, const Array& v, const Array& decay,
                                const Array& beta, const DeltaRule& options) {
  const std::size_t batch = size(q, 0), T = size(q, 1), G = size(q, 2), K = size(q, 3),
                    H = size(v, 2), V = size(v, 3);
  const Real scale =
      options.scale != 0 ? options.scale : 1 / std::sqrt(Real(std::max<std::size_t>(K, 1)));
  // The roundings of a normalized element, and of a share.
  const Real of_norm = options.qk_norm_eps > 0 ? of_sum(K) + 4 : 0;
  const Real of_share = options.sigmoid_beta ? 6 : 0;
  const Array* const state = options.state;
  const Shape of_state{q.shape[0], v.shape[2], q.shape[3], v.shape[3]};
  TensorAndState all{zeros(q.dtype, v.shape), zeros(accumulator(q.dtype), of_state)};
  for (std::size_t i = 0; i < batch * H * V; i++) {
    const std::size_t column = i % V, h = i / V % H, s = i / V / H;
    const std::size_t g = options.tiled_heads ? h % G : h / (H / G);
    const auto place = [&](std::size_t key) { return ((s * H + h) * K + key) * V + column; };
    const auto direction = [&](const Array& x, std::size_t t) {
      const auto from = x.values.begin() + std::ptrdiff_t(((s * T + t) * G + g) * K);
      std::vector<Real> result(from, from + std::ptrdiff_t(K));
      if (options.qk_norm_eps > 0) {
        const Real length = norm(result);
        for (Real& value : result) value /= std::sqrt(length * length + options.qk_norm_eps);
      }
      return result;
    };
    std::vector<Real> now(K);
    for (std::size_t key = 0; key < K; key++) now[key] = state ? state->values[place(key)] : 0;
    Real doubt = 0;  // the norm of the column's roundings
    for (std::size_t t = 0; t < tokens_of(options.lengths, s, T); t++) {
      const std::size_t token = (s * T + t) * H + h;
      const Doubtful logarithm = options.a_log ? gate(decay.values[token], options.a_log->values[h],
                                                      options.dt_bias->values[h])
                                               : Doubtful{decay.values[token], 0};
      const Real exponent = logarithm.value, kept = std::exp(exponent);
      const std::vector<Real> keys = direction(k, t), query = direction(q, t);
      for (Real& value : now) value *= kept;
      const Real before = norm(now), length = norm(keys);
      Sum known;
      for (std::size_t key = 0; key < K; key++) known.add(keys[key] * now[key]);
      const Real value = v.values[token * V + column], raw = beta.values[token];
      const Real share = options.sigmoid_beta ? 1 / (1 + std::exp(-raw)) : raw;
      const Real written = share * (value - known.value());
      Sum y;
      for (std::size_t key = 0; key < K; key++) {
        now[key] += keys[key] * written;
        y.add(query[key] * now[key]);
      }
      const Real raised = std::max<Real>(1, std::fabs(1 - share * length * length));
      const Real of_written = 2 * of_norm + of_share;
      doubt =
          raised * kept * doubt + (std::fabs(exponent) + logarithm.doubt + 3) * before +
          length * share *
              ((of_sum(K) + of_written) * (length * before) + (3 + of_written) * std::fabs(value)) +
          norm(now);
      all.y.array.values[token * V + column] = scale * y.value();
      all.y.magnitude[token * V + column] =
          scale * (norm(query) * doubt + (of_sum(K + T) + of_norm) * y.magnitude());
    }
    for (std::size_t key = 0; key < K; key++) {
      all.state.array.values[place(key)] = now[key];
      all.state.magnitude[place(key)] = doubt + of_sum(T) * std::fabs(now[key]);
    }
  }
  return all;
}

}  // namespace wick::reference
