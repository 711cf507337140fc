// gated_delta_rule: S = exp(decay) S, S += beta k (v - Sᵀ k)ᵀ, y = scale Sᵀ q. A wave has some
// columns of one head's state, which stay in registers from the first token to the last; `lanes`
// lanes share a column.
#pragma once
#include "kernels/token_rows.h"
#include "scalar/unary.h"
#include "wick/abi/ops/delta_rule.h"

namespace wick::gpu {

template <class T>
struct DeltaRuleColumns {
  using C = Compute<T>;
  static constexpr int kThreads = 128;
  static constexpr int kElements = sizeof(C) == 4 ? 32 : 16;  // of a column, per lane
  static constexpr int kPack = 4;     // neighbours in a column; the packs of its lanes alternate
  static constexpr int kTokens = 16;  // the most that a block loads at once
  static constexpr int kShared = 32768 / int(sizeof(C));  // elements of shared memory

  struct Args {
    T* y;
    const T *q, *k, *v;
    EitherDType<T> decay, beta;
    const C *a_log, *dt_bias, *before;  // nullptr: decay as it is, or zeros
    C* state;
    TokenStrides of_y, of_q, of_k, of_v, of_decay, of_beta;
    TokenLengths lengths;
    FastDivide blocks, heads, keys_of;  // blocks of a head; H / G, or G for tiled heads
    int32 grid, tokens, keys, values;
    int32 lanes, log_columns[2];  // columns of a wave of 32 and of 64 lanes
    int32 at_once;                // tokens that are loaded at once
    int32 is_tiled, has_sigmoid, has_norms;
    C scale, eps;  // eps: of the norms
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& args) { return {args.grid}; }
  template <class Ctx>
  struct Shared {
    /// Of each token at_once: q and k, filled up by zeros to width(), v of the block's columns, and
    /// kNumbers.
    alignas(16) C of_tokens[kShared];
  };

  /// Of a token: the factor on the state, beta, and the factors on its q and k.
  enum Number { kKept, kBeta, kOfQ, kOfK, kNumbers };

  static constexpr WICK_HD int width(int lanes) { return lanes * kElements; }
  static constexpr WICK_HD int columns_of_block(int lanes) { return kThreads / lanes; }
  /// Elements of shared memory of one token, a multiple of the pack.
  static constexpr WICK_HD int per_token(int lanes) {
    return 2 * width(lanes) + round_up(columns_of_block(lanes) + kNumbers, kPack);
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const uint32 block = uint32(ctx.block().x), head_of_batch = a.blocks.quotient(block);
    const uint32 batch = a.heads.quotient(head_of_batch);
    const int32 h = int32(head_of_batch - batch * a.heads.divisor);
    const int32 in_group = int32(a.keys_of.quotient(uint32(h)));
    const int32 g = a.is_tiled ? h - in_group * int32(a.keys_of.divisor) : in_group;
    const int32 columns = columns_of_block(a.lanes);
    const int32 first = int32(block - head_of_batch * a.blocks.divisor) * columns;
    // Neighbouring lanes have neighbouring columns, which lie side by side in memory.
    const int32 log_columns = a.log_columns[Ctx::kWave == 64], of_wave = 1 << log_columns;
    const int32 lane = ctx.lane() >> log_columns;
    const int32 column = ctx.wave() * of_wave + (ctx.lane() & (of_wave - 1));
    const bool is_column = first + column < a.values;
    const int64 state_at =
        int64(head_of_batch) * a.keys * a.values + (is_column ? first + column : 0);
    const int32 read = a.lengths.read(batch, a.tokens);

    C state[kElements];
    WICK_UNROLL
    for (int e = 0; e < kElements; e++) {
      const int32 key = place(lane, e, a.lanes);
      state[e] =
          a.before && is_column && key < a.keys ? a.before[state_at + int64(key) * a.values] : C(0);
    }
    T* const y = a.y + a.of_y.at(batch, h) + first + column;
    const int32 size = per_token(a.lanes), wide = width(a.lanes), numbers = 2 * wide + columns;
    const C slope = a.a_log ? -exp(a.a_log[h]) : C(0), bias = a.a_log ? a.dt_bias[h] : C(0);
    for (int32 begin = 0; begin < read; begin += a.at_once) {
      const int32 count = read - begin < a.at_once ? read - begin : a.at_once;
      ctx.sync_shared();           // the tokens before are done
      if (ctx.thread() < count) {  // count <= kTokens < kThreads
        const int64 t = begin + ctx.thread();
        const C decay = a.decay[a.of_decay.at(batch, h) + t * a.of_decay.token];
        const C beta = a.beta[a.of_beta.at(batch, h) + t * a.of_beta.token];
        C* const to = shared.of_tokens + ctx.thread() * size + numbers;
        to[kKept] = exp(a.a_log ? slope * Softplus()(decay + bias, C(1), C(20)) : decay);
        to[kBeta] = a.has_sigmoid ? Sigmoid()(beta) : beta;
        to[kOfQ] = a.scale;
        to[kOfK] = C(1);
      }
      for (int32 i = 0; i < count; i++) {
        C* const to = shared.of_tokens + i * size;
        const int64 t = begin + i;
        const T* const q = a.q + a.of_q.at(batch, g) + t * a.of_q.token;
        const T* const k = a.k + a.of_k.at(batch, g) + t * a.of_k.token;
        const T* const v = a.v + a.of_v.at(batch, h) + t * a.of_v.token + first;
        for (int32 n = ctx.thread(); n < wide; n += kThreads) {
          to[n] = n < a.keys ? widen<C>(q[n]) : C(0);
          to[wide + n] = n < a.keys ? widen<C>(k[n]) : C(0);
        }
        const int32 r = ctx.thread();
        if (r < columns) to[2 * wide + r] = first + r < a.values ? widen<C>(v[r]) : C(0);
      }
      ctx.sync_shared();
      if (a.has_norms) {
        normalize(ctx, shared, a, count);
        ctx.sync_shared();
      }
      for (int32 i = 0; i < count; i++) {
        const C* const q = shared.of_tokens + i * size;
        const C* const k = q + wide;
        const C v = q[2 * wide + column], kept = q[numbers + kKept], of_k = q[numbers + kOfK];
        const C known = kept * (of_k * product(ctx, state, k, lane, a.lanes));
        const C written = of_k * (q[numbers + kBeta] * (v - known));
        WICK_UNROLL
        for (int e = 0; e < kElements; e += kPack) {
          const auto pack = load_pack<kPack>(k + place(lane, e, a.lanes));
          WICK_UNROLL
          for (int j = 0; j < kPack; j++)
            state[e + j] = fma(pack.v[j], written, state[e + j] * kept);
        }
        const C result = q[numbers + kOfQ] * product(ctx, state, q, lane, a.lanes);
        if (lane == 0 && is_column) y[(begin + i) * a.of_y.token] = narrow<T>(result);
      }
    }
    if (lane == 0 && is_column)
      for (int32 t = read; t < a.tokens; t++) y[t * a.of_y.token] = narrow<T>(C(0));
    WICK_UNROLL
    for (int e = 0; e < kElements; e++) {
      const int32 key = place(lane, e, a.lanes);
      if (is_column && key < a.keys) a.state[state_at + int64(key) * a.values] = state[e];
    }
  }

 private:
  /// Sets the factors on q and k of `count` tokens, a wave each.
  template <class Ctx>
  static WICK_DEVICE void normalize(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                    int32 count) {
    const int32 size = per_token(a.lanes), wide = width(a.lanes);
    const int32 numbers = 2 * wide + columns_of_block(a.lanes);
    for (int32 i = ctx.wave(); i < count; i += kThreads / Ctx::kWave) {
      C* const of = shared.of_tokens + i * size;
      C of_q = 0, of_k = 0;
      for (int32 n = ctx.lane(); n < wide; n += Ctx::kWave) {
        of_q = fma(of[n], of[n], of_q);
        of_k = fma(of[wide + n], of[wide + n], of_k);
      }
      masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
        of_q += ctx.template shuffle_xor<mask>(of_q);
        of_k += ctx.template shuffle_xor<mask>(of_k);
      });
      if (ctx.lane() == 0) {
        of[numbers + kOfQ] = a.scale / sqrt(of_q + a.eps);
        of[numbers + kOfK] = C(1) / sqrt(of_k + a.eps);
      }
    }
  }
  /// The index in a column of element e of a lane.
  static WICK_DEVICE int32 place(int32 lane, int e, int32 lanes) {
    return (e / kPack * lanes + lane) * kPack + e % kPack;
  }
  /// The product of the column with x, in shared memory.
  template <class Ctx>
  static WICK_DEVICE C product(const Ctx& ctx, const C (&state)[kElements], const C* x, int32 lane,
                               int32 lanes) {
    C sums[kPack] = {};
    WICK_UNROLL
    for (int e = 0; e < kElements; e += kPack) {
      const auto pack = load_pack<kPack>(x + place(lane, e, lanes));
      WICK_UNROLL
      for (int j = 0; j < kPack; j++) sums[j] = fma(state[e + j], pack.v[j], sums[j]);
    }
    C sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    // The lanes of a column are kWave / lanes apart.
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
      if (mask * lanes >= Ctx::kWave) sum += ctx.template shuffle_xor<mask>(sum);
    });
    return sum;
  }
};

template <class T>
struct DeltaRuleLaunch {
  using K = DeltaRuleColumns<T>;
  using C = Compute<T>;
  static constexpr Signature signature{kGatedDeltaRule, kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &q = call.in[0], &k = call.in[1], &v = call.in[2], &y = call.out[0];
    if (q.rank != 4 || k.rank != 4 || v.rank != 4) return "operands are not of rank 4";
    const View* const all[] = {&q, &k, &v, &y};
    for (const View* of : all)
      if (of->shape[3] > 1 && of->strides[3] != 1) return "an inner stride is not 1";
    if (lanes_for(q.shape[3], K::kElements) == 0) return "keys are too wide";
    const int64 blocks = v.shape[0] * v.shape[2] * v.shape[3];  // at most
    return blocks <= kLaunchLimit && v.shape[1] <= kLaunchLimit
               ? nullptr
               : "there is more than a launch covers";
  }
  static Status run(const Call& call) {
    const View &q = call.in[0], &k = call.in[1], &v = call.in[2], &decay = call.in[3],
               &beta = call.in[4], &constants = call.in[5], &y = call.out[0];
    const auto& attributes = *static_cast<const DeltaRuleAttributes*>(call.attributes);
    typename K::Args args{};
    args.y = y.as<T>();
    args.q = q.as<T>();
    args.k = k.as<T>();
    args.v = v.as<T>();
    args.decay = EitherDType<T>::of(decay);
    args.beta = EitherDType<T>::of(beta);
    args.a_log = attributes.has_gate ? constants.as<C>() : nullptr;
    args.dt_bias = attributes.has_gate ? constants.as<C>() + constants.strides[0] : nullptr;
    args.before = attributes.has_state ? call.in[6].as<C>() : nullptr;
    args.state = call.out[1].as<C>();
    args.of_y = TokenStrides::of(y);
    args.of_q = TokenStrides::of(q);
    args.of_k = TokenStrides::of(k);
    args.of_v = TokenStrides::of(v);
    args.of_decay = TokenStrides::of(decay);
    args.of_beta = TokenStrides::of(beta);
    args.lengths = TokenLengths::of(call.in[7], attributes.has_lengths);
    args.tokens = int32(q.shape[1]);
    args.keys = int32(q.shape[3]);
    args.values = int32(v.shape[3]);
    args.lanes = lanes_for(q.shape[3], K::kElements);
    for (int i = 0; i < 2; i++)
      while (args.lanes << args.log_columns[i] < 32 << i) args.log_columns[i]++;
    const int64 blocks = ceil_div(v.shape[3], int64(K::columns_of_block(args.lanes)));
    args.blocks = FastDivide::by(blocks);
    args.heads = FastDivide::by(v.shape[2]);
    args.keys_of = FastDivide::by(attributes.is_tiled ? q.shape[2] : v.shape[2] / q.shape[2]);
    args.is_tiled = attributes.is_tiled;
    args.has_sigmoid = attributes.has_sigmoid;
    args.has_norms = attributes.qk_norm_eps > 0;
    args.grid = int32(v.shape[0] * v.shape[2] * blocks);
    const int32 fits = K::kShared / K::per_token(args.lanes);
    args.at_once = fits < K::kTokens ? fits : K::kTokens;
    args.scale = C(attributes.scale);
    args.eps = C(attributes.qk_norm_eps);
    return launch<K>(args, call);
  }
};

}  // namespace wick::gpu
