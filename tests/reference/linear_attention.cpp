#include "linear_attention.h"

#include <algorithm>
#include <cmath>

#include "fused.h"

namespace wick::reference {
namespace {

/// phi of the elements at [b, t, h] of x.
std::vector<Real> features_of(const Array& x, int64_t b, int64_t t, int64_t h, int map) {
  const int64_t n = x.shape[3];
  std::vector<Real> e;
  for (int64_t i = 0; i < n; i++)
    e.push_back(x.values[std::size_t(position(x.shape, {b, t, h, i}))]);
  if (map == 1)
    for (Real& v : e) v = v > 0 ? v + 1 : std::exp(v);
  if (map != 2) return e;
  std::vector<Real> phi = {1};
  const Real scale = std::pow(Real(n), Real(-0.25));
  for (const Real v : e) phi.push_back(v * scale);
  for (const Real v : e)
    for (const Real w : e) phi.push_back(v * scale * w * scale / std::sqrt(Real(2)));
  return phi;
}

}  // namespace

ResultAndState linear_attention(const Array& q, const Array& k, const Array& v,
                                const LinearAttention& o) {
  const int64_t tokens = q.shape[1], heads = q.shape[2], groups = k.shape[2], n = k.shape[3];
  const int64_t columns = v.shape[3] + 1, features = o.map == 2 ? 1 + n + n * n : n;
  const Shape shape{q.shape[0], tokens, heads, v.shape[3]},
      states{q.shape[0], groups, features, columns};
  ResultAndState result;
  Array& y = result.y.array;
  y = {q.dtype, shape, std::vector<Real>(std::size_t(numel(shape)))};
  result.y.magnitude.resize(y.values.size());
  result.y.terms = result.state.terms = (tokens + 1) * features;
  Array& state = result.state.array;
  state = {accumulator(q.dtype), states, std::vector<Real>(std::size_t(numel(states)))};
  if (o.state) state.values = o.state->values;
  std::vector<Real>& sizes = result.state.magnitude;  // of the terms of the state
  for (const Real s : state.values) sizes.push_back(std::fabs(s));
  for (int64_t b = 0; b < q.shape[0]; b++) {
    const int64_t length =
        o.lengths ? std::clamp(int64_t(o.lengths->values[std::size_t(b)]), int64_t(0), tokens)
                  : tokens;
    for (int64_t t = 0; t < length; t++) {
      for (int64_t h = 0; h < heads; h++) {
        const int64_t g = h / (heads / groups);
        const auto place = [&](int64_t f, int64_t j) {
          return std::size_t(position(states, {b, g, f, j}));
        };
        if (h % (heads / groups) == 0) {
          const std::vector<Real> phi = features_of(k, b, t, g, o.map);
          for (int64_t f = 0; f < features; f++) {
            for (int64_t j = 0; j < columns; j++) {
              const Real value =
                  j < columns - 1 ? v.values[std::size_t(position(v.shape, {b, t, g, j}))] : 1;
              state.values[place(f, j)] += phi[std::size_t(f)] * value;
              sizes[place(f, j)] += std::fabs(phi[std::size_t(f)] * value);
            }
          }
        }
        const std::vector<Real> phi = features_of(q, b, t, h, o.map);
        std::vector<Real> sums(std::size_t(columns), 0), terms(std::size_t(columns), 0);
        for (int64_t f = 0; f < features; f++) {
          for (int64_t j = 0; j < columns; j++) {
            sums[std::size_t(j)] += phi[std::size_t(f)] * state.values[place(f, j)];
            terms[std::size_t(j)] += std::fabs(phi[std::size_t(f)]) * sizes[place(f, j)];
          }
        }
        const Real total = o.normalize ? sums.back() + o.eps : 1;
        for (int64_t j = 0; j < columns - 1; j++) {
          const std::size_t to = std::size_t(position(shape, {b, t, h, j}));
          y.values[to] = sums[std::size_t(j)] / total;
          result.y.magnitude[to] = terms[std::size_t(j)] / std::fabs(total);
          if (o.normalize)  // what the sum below errs by
            result.y.magnitude[to] += std::fabs(y.values[to]) * terms.back() / std::fabs(total);
        }
      }
    }
  }
  return result;
}

}  // namespace wick::reference
