// ssd: h = exp(dt a) h + dt x bᵀ, y = h c + d x. A block has some rows of one head's state, which
// stay in registers from the first token to the last; `lanes` neighbouring lanes share a row.
#pragma once
#include "kernels/token_rows.h"
#include "scalar/unary.h"
#include "wick/abi/ops/ssd.h"

namespace wick::gpu {

template <class T>
struct SsdRows {
  using C = Compute<T>;
  static constexpr int kThreads = 128;
  static constexpr int kElements = 16;  // of a row, per lane
  static constexpr int kPack = 4;       // neighbours in a row; the packs of a row's lanes alternate
  static constexpr int kTokens = 16;    // the most that a block loads at once
  static constexpr int kShared = 32768 / int(sizeof(C));  // elements of shared memory

  struct Args {
    T* y;
    const T *x, *b, *c;
    EitherDType<T> dt;
    const C *a, *d, *dt_bias, *before;  // d and dt_bias: nullptr without; before: nullptr for zeros
    C* state;
    TokenStrides of_y, of_x, of_b, of_c, of_dt;
    TokenLengths lengths;
    FastDivide blocks, heads, per_group;  // blocks of a head
    int32 grid, tokens, rows, n;
    int32 lanes, log_lanes;
    int32 at_once;  // tokens that are loaded at once
    C least_step, greatest_step;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& args) { return {args.grid}; }
  template <class Ctx>
  struct Shared {
    /// Of each token at_once: b and c, filled up by zeros to width(), x of the block's rows, the
    /// decay and dt.
    alignas(16) C of_tokens[kShared];
  };

  static constexpr WICK_HD int width(int lanes) { return lanes * kElements; }
  static constexpr WICK_HD int rows_of_block(int lanes) { return kThreads / lanes; }
  /// Elements of shared memory of one token, a multiple of the pack.
  static constexpr WICK_HD int per_token(int lanes) {
    return 2 * width(lanes) + round_up(rows_of_block(lanes) + 2, kPack);
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const uint32 block = uint32(ctx.block().x), head_of_batch = a.blocks.quotient(block);
    const uint32 batch = a.heads.quotient(head_of_batch);
    const int32 h = int32(head_of_batch - batch * a.heads.divisor),
                g = int32(a.per_group.quotient(uint32(h)));
    const int32 rows = rows_of_block(a.lanes);
    const int32 first = int32(block - head_of_batch * a.blocks.divisor) * rows;
    const int32 lane = ctx.thread() & (a.lanes - 1), row = ctx.thread() >> a.log_lanes;
    const int32 p = first + row;
    const bool is_row = p < a.rows;
    const int64 state_at = (int64(head_of_batch) * a.rows + (is_row ? p : 0)) * a.n;
    const int32 read = a.lengths.read(batch, a.tokens);
    const C factor = a.a[h], skip = a.d ? a.d[h] : C(0);
    const C bias = a.dt_bias ? a.dt_bias[h] : C(0);

    C state[kElements];
    WICK_UNROLL
    for (int e = 0; e < kElements; e++) {
      const int32 n = place(lane, e, a.lanes);
      state[e] = a.before && is_row && n < a.n ? a.before[state_at + n] : C(0);
    }
    T* const y = a.y + a.of_y.at(batch, h) + p;
    const int32 size = per_token(a.lanes), wide = width(a.lanes);
    for (int32 begin = 0; begin < read; begin += a.at_once) {
      const int32 count = read - begin < a.at_once ? read - begin : a.at_once;
      ctx.sync_shared();           // the tokens before are done
      if (ctx.thread() < count) {  // count <= kTokens < kThreads
        const int64 t = begin + ctx.thread();
        C dt = a.dt[a.of_dt.at(batch, h) + t * a.of_dt.token];
        if (a.dt_bias) {
          dt = Softplus()(dt + bias, C(1), C(20));
          dt = select(dt < a.least_step, a.least_step,
                      select(dt > a.greatest_step, a.greatest_step, dt));
        }
        C* const to = shared.of_tokens + ctx.thread() * size + 2 * wide + rows;
        to[0] = exp(dt * factor);
        to[1] = dt;
      }
      for (int32 i = 0; i < count; i++) {
        C* const to = shared.of_tokens + i * size;
        const int64 t = begin + i;
        const T* const b = a.b + a.of_b.at(batch, g) + t * a.of_b.token;
        const T* const c = a.c + a.of_c.at(batch, g) + t * a.of_c.token;
        const T* const x = a.x + a.of_x.at(batch, h) + t * a.of_x.token + first;
        for (int32 n = ctx.thread(); n < wide; n += kThreads) {
          to[n] = n < a.n ? widen<C>(b[n]) : C(0);
          to[wide + n] = n < a.n ? widen<C>(c[n]) : C(0);
        }
        const int32 r = ctx.thread();
        if (r < rows) to[2 * wide + r] = first + r < a.rows ? widen<C>(x[r]) : C(0);
      }
      ctx.sync_shared();
      for (int32 i = 0; i < count; i++) {
        const C* const from = shared.of_tokens + i * size;
        const C x = from[2 * wide + row], decay = from[2 * wide + rows];
        const C written = from[2 * wide + rows + 1] * x;
        C sums[kPack] = {};
        WICK_UNROLL
        for (int e = 0; e < kElements; e += kPack) {
          const auto b = load_pack<kPack>(from + place(lane, e, a.lanes));
          const auto c = load_pack<kPack>(from + wide + place(lane, e, a.lanes));
          WICK_UNROLL
          for (int k = 0; k < kPack; k++) {
            state[e + k] = fma(written, b.v[k], state[e + k] * decay);
            sums[k] = fma(state[e + k], c.v[k], sums[k]);
          }
        }
        C sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        masks_up<1, 32>([&]<int mask>() {
          if (mask < a.lanes) sum += ctx.template shuffle_xor<mask>(sum);
        });
        if (lane == 0 && is_row)
          y[(begin + i) * a.of_y.token] = narrow<T>(a.d ? fma(skip, x, sum) : sum);
      }
    }
    if (lane == 0 && is_row)
      for (int32 t = read; t < a.tokens; t++) y[t * a.of_y.token] = narrow<T>(C(0));
    WICK_UNROLL
    for (int e = 0; e < kElements; e++) {
      const int32 n = place(lane, e, a.lanes);
      if (is_row && n < a.n) a.state[state_at + n] = state[e];
    }
  }

 private:
  /// The index in a row of element e of a lane.
  static WICK_DEVICE int32 place(int32 lane, int e, int32 lanes) {
    return (e / kPack * lanes + lane) * kPack + e % kPack;
  }
};

template <class T>
struct SsdLaunch {
  using K = SsdRows<T>;
  using C = Compute<T>;
  static constexpr Signature signature{kSsd, kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &x = call.in[0], &b = call.in[2], &c = call.in[3], &y = call.out[0];
    if (x.rank != 4 || b.rank != 4 || c.rank != 4) return "operands are not of rank 4";
    const View* const all[] = {&x, &b, &c, &y};
    for (const View* of : all)
      if (of->shape[3] > 1 && of->strides[3] != 1) return "an inner stride is not 1";
    if (lanes_for(b.shape[3], K::kElements) == 0) return "the state is too wide";
    const int64 blocks = x.shape[0] * x.shape[2] * x.shape[3];  // at most
    return blocks <= kLaunchLimit && x.shape[1] <= kLaunchLimit
               ? nullptr
               : "there is more than a launch covers";
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &dt = call.in[1], &b = call.in[2], &c = call.in[3],
               &constants = call.in[4], &y = call.out[0];
    const auto& attributes = *static_cast<const SsdAttributes*>(call.attributes);
    typename K::Args args{};
    args.y = y.as<T>();
    args.x = x.as<T>();
    args.b = b.as<T>();
    args.c = c.as<T>();
    args.dt = EitherDType<T>::of(dt);
    const auto constant = [&](int64 row) { return constants.as<C>() + row * constants.strides[0]; };
    args.a = constant(0);
    args.d = attributes.has_d ? constant(1) : nullptr;
    args.dt_bias = attributes.has_dt_bias ? constant(1 + attributes.has_d) : nullptr;
    args.least_step = C(attributes.least_step);
    args.greatest_step = C(attributes.greatest_step);
    args.before = attributes.has_state ? call.in[5].as<C>() : nullptr;
    args.state = call.out[1].as<C>();
    args.of_y = TokenStrides::of(y);
    args.of_x = TokenStrides::of(x);
    args.of_b = TokenStrides::of(b);
    args.of_c = TokenStrides::of(c);
    args.of_dt = TokenStrides::of(dt);
    args.lengths = TokenLengths::of(call.in[6], attributes.has_lengths);
    args.tokens = int32(x.shape[1]);
    args.rows = int32(x.shape[3]);
    args.n = int32(b.shape[3]);
    args.lanes = lanes_for(b.shape[3], K::kElements);
    while (1 << args.log_lanes < args.lanes) args.log_lanes++;
    const int64 blocks = ceil_div(x.shape[3], int64(K::rows_of_block(args.lanes)));
    args.blocks = FastDivide::by(blocks);
    args.heads = FastDivide::by(x.shape[2]);
    args.per_group = FastDivide::by(x.shape[2] / b.shape[2]);
    args.grid = int32(x.shape[0] * x.shape[2] * blocks);
    const int32 fits = K::kShared / K::per_token(args.lanes);
    args.at_once = fits < K::kTokens ? fits : K::kTokens;
    return launch<K>(args, call);
  }
};

}  // namespace wick::gpu
