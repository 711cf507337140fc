#include "recurrence.h"

#include <algorithm>
#include <cmath>

#include "fused.h"
#include "sum.h"

namespace wick::reference {
namespace {

/// The number of a row's tokens.
int64_t length_of(const Array* lengths, int64_t row, int64_t tokens) {
  if (!lengths) return tokens;
  return std::clamp(int64_t(lengths->values[std::size_t(row)]), int64_t(0), tokens);
}

Real at(const Array& x, const Index& index) {
  return x.values[std::size_t(position(x.shape, index))];
}

}  // namespace

ResultAndState causal_conv1d(const Array& x, const Array& weight, const Array* bias,
                             const Array* state, const Array* lengths, bool silu) {
  const int64_t tokens = x.shape[1], channels = x.shape[2], taps = weight.shape[1];
  const auto input = [&](int64_t b, int64_t i, int64_t e) {  // of the state, then of x
    if (i < taps - 1) return state ? at(*state, {b, i, e}) : 0;
    const int64_t token = i - (taps - 1);
    return token < length_of(lengths, b, tokens) ? at(x, {b, token, e}) : 0;
  };
  ResultAndState result;
  result.y.terms = taps + 1;
  result.y.array = build(x.dtype, x.shape, [&](const Index& index) {
    const int64_t b = index[0], t = index[1], e = index[2];
    Sum sum;
    if (bias) sum.add(at(*bias, {e}));
    for (int64_t k = 0; k < taps; k++) sum.add(at(weight, {e, k}) * input(b, t + k, e));
    result.y.magnitude.push_back(sum.magnitude());
    const Real y = sum.value();
    return silu ? y / (1 + std::exp(-y)) : y;
  });
  result.state.array = build(x.dtype, {x.shape[0], taps - 1, channels}, [&](const Index& index) {
    return input(index[0], length_of(lengths, index[0], tokens) + index[1], index[2]);
  });
  return result;
}

ResultAndState linear_scan(const Array& decay, const Array& input, const Array* state,
                           const Array* lengths) {
  const int64_t rows = decay.shape[0], tokens = decay.shape[1], channels = decay.shape[2];
  ResultAndState result;
  result.y.array = {decay.dtype, decay.shape, std::vector<Real>(decay.values.size())};
  result.y.magnitude.resize(decay.values.size());
  result.state.array = {accumulator(decay.dtype), {rows, channels}, {}};
  for (int64_t b = 0; b < rows; b++) {
    for (int64_t e = 0; e < channels; e++) {
      Real h = state ? at(*state, {b, e}) : 0, size = std::fabs(h), error = 0;
      for (int64_t t = 0; t < tokens; t++) {
        if (t < length_of(lengths, b, tokens)) {
          const Real d = at(decay, {b, t, e}), x = at(input, {b, t, e});
          h = d * h + x;
          size = std::fabs(d) * size + std::fabs(x);
          error = std::fabs(d) * error + size;
        }
        const std::size_t place = std::size_t(position(decay.shape, {b, t, e}));
        result.y.array.values[place] = h;
        result.y.magnitude[place] = error;
      }
      result.state.array.values.push_back(h);
      result.state.magnitude.push_back(error);
    }
  }
  result.y.terms = result.state.terms = tokens + 1;
  return result;
}

}  // namespace wick::reference
