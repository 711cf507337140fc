// Recurrences of neighbouring channels, token after token.
#include "dispatch/recurrence.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "scalar/silu.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// The inputs of a convolution's piece: row i is of the state for i < taps - 1, else token
/// i - (taps - 1); nullptr: zeros.
template <class T>
WICK_HD const T* input_row(const CausalConv1dPiece& p, int64 i) {
  const int64 token = i - (p.taps - 1);
  if (token >= p.length) return nullptr;
  if (token >= 0) return static_cast<const T*>(p.x) + token * p.x_stride;
  return p.state ? static_cast<const T*>(p.state) + i * p.state_stride : nullptr;
}

template <class T>
void causal_conv1d(const CausalConv1dPiece& p) {
  using C = Compute<T>;
  using L = Lanes<C>;
  const int64 n = p.channels, taps = p.taps;
  alignas(64) C weight[kMaxTaps][kPieceChannels], inputs[kMaxTaps][kPieceChannels];
  alignas(64) C bias[kPieceChannels] = {}, buffer[kPieceChannels];
  for (int64 k = 0; k < taps; k++)
    load<T, C>(static_cast<const T*>(p.weight) + k, taps, n, weight[k]);
  if (p.bias) load<T, C>(p.bias, 1, n, bias);
  // The last `taps` rows, row i at i % taps.
  const auto read = [&](int64 i) __attribute__((always_inline)) {
    const T* const row = input_row<T>(p, i);
    if (row)
      load<T, C>(row, 1, n, inputs[i % taps]);
    else
      memset(inputs[i % taps], 0, size_t(n) * sizeof(C));
  };
  for (int64 i = p.first; i < p.first + taps - 1; i++) read(i);
  for (int64 t = p.first; t < p.end; t++) {
    read(t + taps - 1);
    const C* rows[kMaxTaps];
    for (int64 k = 0; k < taps; k++) rows[k] = inputs[(t + k) % taps];
    T* const y = static_cast<T*>(p.y) + t * p.y_stride;
    C* const to = place(y, buffer);
    each<C>(
        n, [&](auto at) __attribute__((always_inline)) {
          L sum = at(bias);
          for (int64 k = 0; k < taps; k++) sum = sum + at(rows[k]) * at(weight[k]);
          at.store(p.silu ? Silu()(sum) : sum, to);
        });
    put(buffer, y, n);
  }
  if (!p.new_state) return;
  for (int64 k = 0; k < taps - 1; k++) {
    T* const to = static_cast<T*>(p.new_state) + k * p.state_stride;
    if (const T* const row = input_row<T>(p, p.length + k))
      memcpy(to, row, size_t(n) * sizeof(T));
    else
      memset(static_cast<void*>(to), 0, size_t(n) * sizeof(T));
  }
}

template <class T>
void linear_scan(const LinearScanPiece& p) {
  using C = Compute<T>;
  const int64 n = p.channels;
  alignas(64) C h[kPieceChannels] = {}, a[kPieceChannels], b[kPieceChannels];
  if (p.state) load<C, C>(p.state, 1, n, h);
  for (int64 t = 0; t < p.tokens; t++) {
    if (t < p.length) {
      const C* const decay = fetch(static_cast<const T*>(p.decay) + t * p.decay_stride, n, a);
      const C* const input = fetch(static_cast<const T*>(p.input) + t * p.input_stride, n, b);
      each<C>(
          n, [&](auto at) __attribute__((always_inline)) {
            at.store(at(decay) * at(static_cast<const C*>(h)) + at(input), h);
          });
    }
    store<T, C>(h, static_cast<T*>(p.y) + t * p.y_stride, 1, n);
  }
  store<C, C>(h, p.new_state, 1, n);
}

}  // namespace

template <>
void add_family<"recurrence">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr CausalConv1d data{causal_conv1d<T>};
    table.add(CausalConv1d::kOp, kDTypeOf<T>,
              {.accepts = CausalConv1d::accepts, .run = CausalConv1d::run, .data = &data});
  });
  add_floats(table, []<class T>() { return LinearScan{linear_scan<T>}; });
}

}  // namespace wick::cpu::WICK_ISA
