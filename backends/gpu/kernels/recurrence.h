// Recurrences along the tokens of rows [B, T, E]. Neighbouring threads have neighbouring channels,
// so that their accesses join.
#pragma once
#include "kernels/common.h"
#include "scalar/silu.h"
#include "wick/abi/ops/recurrence.h"

namespace wick::gpu {

/// The number of a row's tokens; lengths: or nullptr.
WICK_DEVICE inline int64 length_of(const int64* lengths, int row, int64 tokens) {
  if (!lengths) return tokens;
  const int64 length = lengths[row];
  return length < 0 ? 0 : length < tokens ? length : tokens;
}

/// The base of kernels of a thread per channel: blocks are channels, then the kernel's, then rows.
struct ChannelsKernel {
  static constexpr int kThreads = 128;
  static constexpr int kMaxBlocks = 65535;  // in the second and third dim of a grid
  static constexpr int threads(int) { return kThreads; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static WICK_DEVICE int64 channel(const Ctx& ctx) {
    return int64(ctx.block().x) * kThreads + ctx.thread();
  }
  /// Checks x [B, T, E] against the views of the same shape, of which only x may have gaps.
  static const char* check(const View& x, const View& y) {
    if (x.rank != 3 || y.rank != 3) return "operands are not of rank 3";
    if (!y.contiguous()) return "the output is not contiguous";
    if (x.shape[2] > 1 && x.strides[2] != 1) return "the inner stride is not 1";
    for (int d = 0; d < 3; d++)
      if (x.shape[d] != y.shape[d]) return "x and the output differ in shape";
    return x.shape[0] <= kMaxBlocks && x.shape[2] <= kLaunchLimit
               ? nullptr
               : "there is more than a launch covers";
  }
};

// y[t] = f(bias + sum over k of weight[k] z[t + k]), z: the state, then x. A thread computes
// kTokens neighbouring tokens of a channel; the thread of the first ones also writes the new state.
template <class T>
struct CausalConv1d : ChannelsKernel {
  using C = Compute<T>;
  static constexpr int kTokens = 8;
  static constexpr Signature signature{kCausalConv1d, kDTypeOf<T>};
  struct Args {
    T *y, *new_state;
    const T *x, *weight;
    const T *bias, *state;  // or nullptr
    const int64* lengths;   // or nullptr
    int64 x_row, x_token;   // strides
    int64 tokens, channels;
    int32 rows, taps;
    bool silu;
  };
  static Grid grid(int, const Args& a) {
    return {int(ceil_div<int64>(a.channels, kThreads)), int(ceil_div<int64>(a.tokens, kTokens)),
            a.rows};
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int64 e = channel(ctx);
    if (e >= a.channels) return;
    const int row = ctx.block().z;
    const int64 first = int64(ctx.block().y) * kTokens;
    const int64 length = length_of(a.lengths, row, a.tokens);
    const int before = a.taps - 1;
    const T* const x = a.x + row * a.x_row + e;
    const int64 states = int64(row) * before * a.channels + e;
    const auto input = [&](int64 i) {
      const int64 token = i - before;
      if (token >= length) return narrow<T>(C(0));
      if (token >= 0) return x[token * a.x_token];
      return a.state ? a.state[states + i * a.channels] : narrow<T>(C(0));
    };
    C sums[kTokens];
    const C bias = a.bias ? widen<C>(a.bias[e]) : C(0);
    for (int i = 0; i < kTokens; i++) sums[i] = bias;
    for (int k = 0; k < a.taps; k++) {
      const C weight = widen<C>(a.weight[e * a.taps + k]);
      WICK_UNROLL
      for (int i = 0; i < kTokens; i++)
        if (first + i < a.tokens) sums[i] = fma(weight, widen<C>(input(first + i + k)), sums[i]);
    }
    T* const y = a.y + int64(row) * a.tokens * a.channels + e;
    for (int i = 0; i < kTokens && first + i < a.tokens; i++)
      y[(first + i) * a.channels] = narrow<T>(a.silu ? Silu()(sums[i]) : sums[i]);
    if (first == 0)
      for (int k = 0; k < before; k++) a.new_state[states + k * a.channels] = input(length + k);
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &x = call.in[0], &weight = call.in[1];
    if (const char* why = check(x, call.out[0])) return why;
    if (!weight.contiguous() || !call.out[1].contiguous()) return "operands are not contiguous";
    return x.shape[1] <= int64(kMaxBlocks) * kTokens && weight.shape[1] <= kLaunchLimit
               ? nullptr
               : "there is more than a launch covers";
  }
  static Args args(const Call& call) {
    const auto& attributes = *static_cast<const CausalConv1dAttributes*>(call.attributes);
    const View &x = call.in[0], &weight = call.in[1];
    return {call.out[0].as<T>(),
            call.out[1].as<T>(),
            x.as<T>(),
            weight.as<T>(),
            attributes.has_bias ? call.in[2].as<T>() : nullptr,
            attributes.has_state ? call.in[3].as<T>() : nullptr,
            attributes.has_lengths ? call.in[4].as<int64>() : nullptr,
            x.strides[0],
            x.strides[1],
            x.shape[1],
            x.shape[2],
            int32(x.shape[0]),
            int32(weight.shape[1]),
            attributes.silu != 0};
  }
};

// y[t] = decay[t] y[t - 1] + input[t]. A thread walks along the tokens of a channel; it loads
// kAhead of them at once, since only the sums depend on each other.
template <class T>
struct LinearScan : ChannelsKernel {
  using C = Compute<T>;
  static constexpr int kAhead = 8;
  static constexpr Signature signature{kLinearScan, kDTypeOf<T>};
  struct Args {
    T* y;
    C* new_state;
    const T *decay, *input;
    const C* state;                                        // or nullptr
    const int64* lengths;                                  // or nullptr
    int64 decay_row, decay_token, input_row, input_token;  // strides
    int64 tokens, channels;
    int32 rows;
  };
  static Grid grid(int, const Args& a) {
    return {int(ceil_div<int64>(a.channels, kThreads)), a.rows};
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int64 e = channel(ctx);
    if (e >= a.channels) return;
    const int row = ctx.block().y;
    const int64 length = length_of(a.lengths, row, a.tokens), state = row * a.channels + e;
    const T* const decay = a.decay + row * a.decay_row + e;
    const T* const input = a.input + row * a.input_row + e;
    T* const y = a.y + row * a.tokens * a.channels + e;
    C h = a.state ? a.state[state] : C(0);
    int64 t = 0;
    for (; t + kAhead <= length; t += kAhead) {
      T d[kAhead], x[kAhead];
      WICK_UNROLL
      for (int i = 0; i < kAhead; i++) {
        d[i] = decay[(t + i) * a.decay_token];
        x[i] = input[(t + i) * a.input_token];
      }
      WICK_UNROLL
      for (int i = 0; i < kAhead; i++) {
        h = fma(widen<C>(d[i]), h, widen<C>(x[i]));
        y[(t + i) * a.channels] = narrow<T>(h);
      }
    }
    for (; t < length; t++) {
      h = fma(widen<C>(decay[t * a.decay_token]), h, widen<C>(input[t * a.input_token]));
      y[t * a.channels] = narrow<T>(h);
    }
    for (; t < a.tokens; t++) y[t * a.channels] = narrow<T>(h);
    a.new_state[state] = h;
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = check(call.in[0], call.out[0])) return why;
    if (const char* why = check(call.in[1], call.out[0])) return why;
    return call.out[1].contiguous() ? nullptr : "the state is not contiguous";
  }
  static Args args(const Call& call) {
    const auto& attributes = *static_cast<const LinearScanAttributes*>(call.attributes);
    const View &decay = call.in[0], &input = call.in[1];
    return {call.out[0].as<T>(),
            call.out[1].as<C>(),
            decay.as<T>(),
            input.as<T>(),
            attributes.has_state ? call.in[2].as<C>() : nullptr,
            attributes.has_lengths ? call.in[3].as<int64>() : nullptr,
            decay.strides[0],
            decay.strides[1],
            input.strides[0],
            input.strides[1],
            decay.shape[1],
            decay.shape[2],
            int32(decay.shape[0])};
  }
};

}  // namespace wick::gpu
