// Linear attention: S += phi(k) [v | 1], y = phi(q) S, token after token. A block has the state of
// one group of heads of a row: kLanes columns at once, the features shared out among kParts threads
// of each.
#pragma once
#include "kernels/recurrence.h"
#include "wick/abi/ops/linear_attention.h"

namespace wick::gpu {

template <class T>
struct LinearAttention {
  using C = Compute<T>;
  static constexpr int kThreads = 256, kLanes = 64, kParts = kThreads / kLanes;
  static constexpr int kMaxFeatures = 2048, kMaxColumns = 512;  // in shared memory
  static constexpr Signature signature{kLinearAttention, kDTypeOf<T>};
  struct Args {
    T* y;
    C* new_state;
    const T *q, *k, *v;
    const C* state;                                                                // or nullptr
    const int64* lengths;                                                          // or nullptr
    int64 q_row, q_token, q_head, k_row, k_token, k_head, v_row, v_token, v_head;  // strides
    int64 tokens;
    int32 blocks, groups, heads;  // heads: query heads of a group
    int32 features, values;
    FastDivide elements;
    C scale, root, eps;  // scale: of an element in kTaylor's features, root: of a product there
    int32 map;
    bool normalize;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks}; }
  template <class Ctx>
  struct Shared {
    C phi_k[kMaxFeatures], phi_q[kMaxFeatures];
    C sums[kMaxColumns];
    C partial[kParts][kLanes];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int row = ctx.block().x / a.groups, group = ctx.block().x % a.groups;
    const int64 length = length_of(a.lengths, row, a.tokens);
    const int64 columns = a.values + 1, states = int64(ctx.block().x) * a.features * columns;
    const T* const k = a.k + row * a.k_row + group * a.k_head;
    const T* const v = a.v + row * a.v_row + group * a.v_head;
    const T* const q = a.q + row * a.q_row + int64(group) * a.heads * a.q_head;
    const int64 y_token = int64(a.groups) * a.heads * a.values;
    T* const y = a.y + row * a.tokens * y_token + int64(group) * a.heads * a.values;
    for (int64 t = 0; t < length; t++) {
      features(ctx, a, k + t * a.k_token, shared.phi_k);
      for (int h = 0; h < a.heads; h++) {
        features(ctx, a, q + t * a.q_token + h * a.q_head, shared.phi_q);
        ctx.sync_shared();
        sum(ctx, shared, a, t, h, v + t * a.v_token, states);
        const C total = a.normalize ? shared.sums[a.values] + a.eps : C(1);
        for (int j = ctx.thread(); j < a.values; j += kThreads)
          y[t * y_token + h * a.values + j] = narrow<T>(shared.sums[j] / total);
        ctx.sync_shared();  // the next head writes there
      }
    }
    if (length == 0)
      for (int64 i = ctx.thread(); i < a.features * columns; i += kThreads)
        a.new_state[states + i] = a.state ? a.state[states + i] : C(0);
    for (int64 t = length; t < a.tokens; t++)
      for (int i = ctx.thread(); i < a.heads * a.values; i += kThreads)
        y[t * y_token + i] = narrow<T>(C(0));
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &q = call.in[0], &k = call.in[1], &v = call.in[2], &state = call.out[1];
    if (q.rank != 4 || k.rank != 4 || v.rank != 4 || state.rank != 4)
      return "operands are not of rank 4";
    const View* const inputs[] = {&q, &k, &v};
    for (const View* x : inputs)
      if (x->shape[3] > 1 && x->strides[3] != 1) return "the inner stride is not 1";
    if (!call.out[0].contiguous() || !state.contiguous()) return "the outputs are not contiguous";
    if (state.shape[2] > kMaxFeatures) return "there are more than 2048 features";
    if (state.shape[3] > kMaxColumns) return "values have more than 511 elements";
    return q.shape[0] * k.shape[2] <= kLaunchLimit && q.shape[2] * v.shape[3] <= kLaunchLimit
               ? nullptr
               : "there is more than a launch covers";
  }
  static Args args(const Call& call) {
    const auto& attributes = *static_cast<const LinearAttentionAttributes*>(call.attributes);
    const View &q = call.in[0], &k = call.in[1], &v = call.in[2], &state = call.out[1];
    Args args{};
    args.y = call.out[0].as<T>();
    args.new_state = state.as<C>();
    args.q = q.as<T>(), args.k = k.as<T>(), args.v = v.as<T>();
    args.state = attributes.has_state ? call.in[3].as<C>() : nullptr;
    args.lengths = attributes.has_lengths ? call.in[4].as<int64>() : nullptr;
    args.q_row = q.strides[0], args.q_token = q.strides[1], args.q_head = q.strides[2];
    args.k_row = k.strides[0], args.k_token = k.strides[1], args.k_head = k.strides[2];
    args.v_row = v.strides[0], args.v_token = v.strides[1], args.v_head = v.strides[2];
    args.tokens = q.shape[1];
    args.blocks = int32(q.shape[0] * k.shape[2]);
    args.groups = int32(k.shape[2]);
    args.heads = int32(q.shape[2] / k.shape[2]);
    args.features = int32(state.shape[2]);
    args.values = int32(v.shape[3]);
    args.elements = FastDivide::by(q.shape[3]);
    args.scale = C(__builtin_pow(double(q.shape[3]), -0.25));
    args.root = C(__builtin_sqrt(0.5));
    args.eps = C(attributes.eps);
    args.map = attributes.map;
    args.normalize = attributes.normalize != 0;
    return args;
  }

 private:
  /// phi of the elements at x.
  template <class Ctx>
  static WICK_DEVICE void features(const Ctx& ctx, const Args& a, const T* x, C* phi) {
    const int elements = int(a.elements.divisor);
    for (int f = ctx.thread(); f < a.features; f += kThreads) {
      if (a.map == 0) {
        phi[f] = widen<C>(x[f]);
      } else if (a.map == 1) {
        const C e = widen<C>(x[f]);
        phi[f] = select(e > C(0), e, C(0)) + exp(select(e > C(0), C(0), e));
      } else if (f <= elements) {
        phi[f] = f == 0 ? C(1) : widen<C>(x[f - 1]) * a.scale;
      } else {
        const int pair = f - 1 - elements, i = int(a.elements.quotient(uint32(pair)));
        phi[f] = widen<C>(x[i]) * a.scale * (widen<C>(x[pair - i * elements]) * a.scale) * a.root;
      }
    }
  }

  /// Adds phi(k) [v | 1] to the state with head 0, and writes phi(q) S into shared.sums, which all
  /// threads may then read.
  template <class Ctx>
  static WICK_DEVICE void sum(const Ctx& ctx, Shared<Ctx>& shared, const Args& a, int64 token,
                              int head, const T* v, int64 states) {
    const int lane = ctx.thread() % kLanes, part = ctx.thread() / kLanes, columns = a.values + 1;
    C* const S = a.new_state + states;
    const C* const from = token > 0 ? S : a.state ? a.state + states : nullptr;
    for (int first = 0; first < columns; first += kLanes) {
      const int j = first + lane;
      C total = 0;
      if (j < columns) {
        const C value = j < a.values ? widen<C>(v[j]) : C(1);
        for (int f = part; f < a.features; f += kParts) {
          const int64 at = int64(f) * columns + j;
          C s;
          if (head == 0) {
            s = fma(shared.phi_k[f], value, from ? from[at] : C(0));
            S[at] = s;
          } else {
            s = S[at];
          }
          total = fma(shared.phi_q[f], s, total);
        }
      }
      shared.partial[part][lane] = total;
      ctx.sync_shared();
      if (part == 0 && j < columns) {
        for (int p = 1; p < kParts; p++) total += shared.partial[p][lane];
        shared.sums[j] = total;
      }
      ctx.sync_shared();
    }
  }
};

}  // namespace wick::gpu
