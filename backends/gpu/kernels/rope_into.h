// rope of queries and keys with the norms of their heads before, and keys and values written into
// caches, in one launch. A wave computes a head of a token.
#pragma once
#include "device/round_pair.h"
#include "kernels/group_codes.h"
#include "kernels/rope.h"
#include "kernels/stored_heads.h"

namespace wick::gpu {

/// S: of the caches. kMaxHalf: the most pairs of a head. Few make a short program: a decode step
/// runs each kernel once a layer, and a layer's programs together should fit into the cache of
/// instructions.
template <class T, class S, int kMaxHalf>
struct RopeInto {
  using C = Compute<T>;
  static constexpr int kThreads = 256;
  static constexpr int kLeastWave = 32, kPairs = kMaxHalf / kLeastWave;
  template <class X>
  struct Rows {
    X* data;
    int64 b, t, h;  // strides
    WICK_DEVICE X* row(int i, int j, int k) const { return data + i * b + j * t + k * h; }
  };
  struct Args {
    Rows<T> q, k, v, y;
    Rows<S> keys, values;                // t: of a row of the cache
    Rows<f16> key_scales, value_scales;  // of caches of i8; else nullptr
    const C *cos, *sin;                  // [positions, half]
    const T* norms;                      // of queries, then of keys; or nullptr
    const int64 *positions, *at;
    int64 positions_b, positions_t, at_b, at_t;  // strides
    int64 limit, capacity;
    C eps;
    int32 tokens, heads, groups, half, rows;
    bool interleaved;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int wave, const Args& a) { return {int(ceil_div(a.rows, kThreads / wave))}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int row = ctx.block().x * Ctx::kWaves + ctx.wave(), per_token = a.heads + 2 * a.groups;
    if (row >= a.rows) return;
    const int head = row % per_token, token = row / per_token % a.tokens,
              b = row / per_token / a.tokens;
    const int64 position = a.positions[b * a.positions_b + token * a.positions_t];
    const int64 at = a.at[b * a.at_b + token * a.at_t];
    const bool turns = 0 <= position && position < a.limit, fits = 0 <= at && at < a.capacity;
    if (head == 0 && ctx.lane() == 0) {
      const int64 index = int64(b) * a.tokens + token;
      if (!turns) ctx.fail(StatusCode::kIdOutOfRange, kRopeInto.id, index, position, a.limit);
      if (!fits) ctx.fail(StatusCode::kIdOutOfRange, kRopeInto.id, index, at, a.capacity);
    }
    const bool is_query = head < a.heads, is_key = !is_query && head < a.heads + a.groups;
    const int group = is_query ? 0 : is_key ? head - a.heads : head - a.heads - a.groups;
    const T* const from = is_query ? a.q.row(b, token, head)
                          : is_key ? a.k.row(b, token, group)
                                   : a.v.row(b, token, group);
    C x[kPairs][2];
    WICK_UNROLL
    for (int p = 0; p < kPairs; p++) {
      const int pair = p * Ctx::kWave + ctx.lane();
      WICK_UNROLL
      for (int e = 0; e < 2; e++)
        x[p][e] = pair < a.half ? widen<C>(from[element(a, pair, e)]) : C(0);
    }
    if (a.norms && (is_query || is_key)) normalize(ctx, a, a.norms + (is_key ? 2 * a.half : 0), x);
    if (is_query || is_key) {
      const int64 angles = turns ? position * a.half : 0;
      WICK_UNROLL
      for (int p = 0; p < kPairs; p++) {
        const int pair = p * Ctx::kWave + ctx.lane();
        if (pair >= a.half) continue;
        const C c = a.cos[angles + pair], s = a.sin[angles + pair], x1 = x[p][0], x2 = x[p][1];
        x[p][0] = turns ? x1 * c - x2 * s : C(0), x[p][1] = turns ? x2 * c + x1 * s : C(0);
      }
    }
    if (is_query) {
      store(ctx, a, x, a.y.row(b, token, head));
    } else if (fits) {
      S* const to = is_key ? a.keys.row(b, int(at), group) : a.values.row(b, int(at), group);
      if constexpr (kSame<S, Eight>) {
        f16* const scales =
            is_key ? a.key_scales.row(b, int(at), group) : a.value_scales.row(b, int(at), group);
        if (a.key_scales.data)
          store_codes(ctx, a, x, to, scales);
        else
          store(ctx, a, x, to);
      } else {
        store(ctx, a, x, to);
      }
    }
  }

 private:
  static WICK_DEVICE int element(const Args& a, int pair, int e) {
    return a.interleaved ? 2 * pair + e : pair + e * a.half;
  }
  /// x as X has it, rounded to T before.
  template <class X>
  static WICK_DEVICE X stored(C x) {
    const T rounded = narrow<T>(x);
    if constexpr (kSame<X, T>) {
      return rounded;
    } else if constexpr (kSame<X, Eight>) {
      return {round_to_f8(to_float(rounded)).bits};
    } else {
      return round_to<X>(to_float(rounded));
    }
  }
  template <class Ctx, class X>
  static WICK_DEVICE void store(const Ctx& ctx, const Args& a, const C (&x)[kPairs][2], X* to) {
    WICK_UNROLL
    for (int p = 0; p < kPairs; p++) {
      if (p * Ctx::kWave >= a.half) break;
      const int pair = p * Ctx::kWave + ctx.lane();
      WICK_UNROLL
      for (int e = 0; e < 2; e++)
        if (pair < a.half) to[element(a, pair, e)] = stored<X>(x[p][e]);
    }
  }
  /// Stores codes and their scales. Whole groups are in neighbouring lanes: 32 of the elements of
  /// one half, or, interleaved, both elements of 16.
  template <class Ctx>
  static WICK_DEVICE void store_codes(const Ctx& ctx, const Args& a, const C (&x)[kPairs][2],
                                      Eight* to, f16* scales) {
    WICK_UNROLL
    for (int p = 0; p < kPairs; p++) {
      if (p * Ctx::kWave >= a.half) break;
      const int pair = p * Ctx::kWave + ctx.lane();
      float y[2], largest[2];
      WICK_UNROLL
      for (int e = 0; e < 2; e++) {
        y[e] = to_float(narrow<T>(x[p][e]));
        largest[e] = largest_of<8>(ctx, y[e]);
      }
      const float both = larger_magnitude(largest[0], largest[1]);
      WICK_UNROLL
      for (int e = 0; e < 2; e++) {
        const float half = larger_magnitude(largest[e], ctx.template shuffle_xor<16>(largest[e]));
        const CodeScale scale = CodeScale::of(a.interleaved ? both : half);
        if (pair >= a.half) continue;
        const int at = element(a, pair, e);
        to[at] = {uint8(scale.code(y[e]))};
        if (at % int(kScaleGroup) == 0) scales[at / int(kScaleGroup)] = round_to<f16>(scale.scale);
      }
    }
  }
  /// rms_norm of the wave's head, rounded to T as between two ops.
  template <class Ctx>
  static WICK_DEVICE void normalize(const Ctx& ctx, const Args& a, const T* weight,
                                    C (&x)[kPairs][2]) {
    C squares = 0;
    WICK_UNROLL
    for (int p = 0; p < kPairs; p++)
      squares = fma(x[p][0], x[p][0], fma(x[p][1], x[p][1], squares));
    masks_down<Ctx::kWave / 2, 1>(
        [&]<int mask>() { squares += ctx.template shuffle_xor<mask>(squares); });
    const C scale = C(1) / sqrt(squares / C(2 * a.half) + a.eps);
    WICK_UNROLL
    for (int p = 0; p < kPairs; p++) {
      const int pair = p * Ctx::kWave + ctx.lane();
      WICK_UNROLL
      for (int e = 0; e < 2; e++)
        if (pair < a.half)
          x[p][e] = widen<C>(narrow<T>(x[p][e] * scale * widen<C>(weight[element(a, pair, e)])));
    }
  }
};

template <class T, class S = T>
struct RopeIntoLaunch {
  static constexpr int kSmallHalf = 64, kMaxHalf = 256;
  static constexpr Signature signature{kSame<S, T> ? kRopeInto : kRopeIntoMixed, kDTypeOf<T>,
                                       kKernelAccumulates};

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &q = call.in[0], &k = call.in[1], &v = call.in[2], &cos = call.in[3],
               &y = call.out[0];
    const View* const heads[] = {&q, &k, &v, &y, &call.out[1], &call.out[2]};
    for (const View* x : heads)
      if (x->rank != 4 || x->shape[3] != q.shape[3] || (q.shape[3] > 1 && x->strides[3] != 1))
        return "the operands are not heads of one size with an inner stride of 1";
    if (q.shape[3] % 2 != 0 || q.shape[3] > 2 * kMaxHalf) return "a head is odd or above 512";
    const int64 b = q.shape[0], t = q.shape[1], g = k.shape[2];
    if (k.shape[0] != b || v.shape[0] != b || k.shape[1] != t || v.shape[1] != t ||
        v.shape[2] != g || y.shape[0] != b || y.shape[1] != t || y.shape[2] != q.shape[2])
      return "q, k, v and y differ in shape";
    for (int i = 1; i < 3; i++)
      if (call.out[i].shape[0] != b || call.out[i].shape[1] != g ||
          call.out[i].shape[2] != call.out[1].shape[2] || call.out[i].shape[2] > kLaunchLimit)
        return "the caches are not [B, G, S, D]";
    if (call.out[1].dtype == DType::kI8) {
      if (q.shape[3] % (2 * kScaleGroup) != 0) return "half a head is no multiple of a group";
      for (int i = 3; i < 5; i++) {
        const View& x = call.out[i];
        if (x.rank != 4 || x.shape[0] != b || x.shape[1] != g ||
            x.shape[2] != call.out[1].shape[2] || x.shape[3] != q.shape[3] / kScaleGroup ||
            (x.shape[3] > 1 && x.strides[3] != 1))
          return "the scales are not [B, G, S, D / 32] with an inner stride of 1";
      }
    }
    for (int i = 5; i < 7; i++)
      if (call.in[i].rank != 2 || call.in[i].shape[0] != b || call.in[i].shape[1] != t)
        return "positions are not [B, T]";
    if (cos.rank != 2 || cos.shape[1] != q.shape[3] / 2 || !cos.contiguous())
      return "cos is not [P, D / 2]";
    if (const char* why = check_vector(call.in[4], cos.numel())) return why;
    if (attributes_of(call).has_norms)
      if (const char* why = check_vector(call.in[7], 2 * q.shape[3])) return why;
    return b * t * (q.shape[2] + 2 * g) <= kLaunchLimit ? nullptr
                                                        : "there is more than a launch covers";
  }
  static Status run(const Call& call) {
    return call.in[0].shape[3] <= 2 * kSmallHalf ? run_kernel<RopeInto<T, S, kSmallHalf>>(call)
                                                 : run_kernel<RopeInto<T, S, kMaxHalf>>(call);
  }

 private:
  template <class K>
  static Status run_kernel(const Call& call) {
    const View &q = call.in[0], &k = call.in[1], &positions = call.in[5], &at = call.in[6];
    typename K::Args a{};
    a.q = of_tokens<K>(q), a.k = of_tokens<K>(k), a.v = of_tokens<K>(call.in[2]),
    a.y = of_tokens<K>(call.out[0]);
    a.keys = of_cache<K, S>(call.out[1]), a.values = of_cache<K, S>(call.out[2]);
    if (call.out[1].dtype == DType::kI8)
      a.key_scales = of_cache<K, f16>(call.out[3]), a.value_scales = of_cache<K, f16>(call.out[4]);
    a.cos = call.in[3].as<typename K::C>(), a.sin = call.in[4].as<typename K::C>();
    a.norms = attributes_of(call).has_norms ? call.in[7].as<T>() : nullptr;
    a.positions = positions.as<int64>(), a.at = at.as<int64>();
    a.positions_b = positions.strides[0], a.positions_t = positions.strides[1];
    a.at_b = at.strides[0], a.at_t = at.strides[1];
    a.limit = call.in[3].shape[0], a.capacity = call.out[1].shape[2];
    a.eps = typename K::C(attributes_of(call).eps);
    a.tokens = int32(q.shape[1]), a.heads = int32(q.shape[2]), a.groups = int32(k.shape[2]);
    a.half = int32(q.shape[3] / 2), a.interleaved = attributes_of(call).interleaved != 0;
    a.rows = int32(q.shape[0] * q.shape[1] * (q.shape[2] + 2 * k.shape[2]));
    return a.rows == 0 || a.half == 0 ? Status{} : launch<K>(a, call);
  }
  static const RopeIntoAttributes& attributes_of(const Call& call) {
    return *static_cast<const RopeIntoAttributes*>(call.attributes);
  }
  template <class K>
  static typename K::template Rows<T> of_tokens(const View& x) {
    return {x.as<T>(), x.strides[0], x.strides[1], x.strides[2]};
  }
  template <class K, class X>
  static typename K::template Rows<X> of_cache(const View& x) {
    return {x.as<X>(), x.strides[0], x.strides[2], x.strides[1]};
  }
};

}  // namespace wick::gpu
