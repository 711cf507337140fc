// y[t, n] = residual[t, n] + sum over j of factors[t, j] times sum over k of x[t, j, k]
// w[ids[t, j], n, k]: a token's rows of x are one long row, and parts of k have their own weights.
#pragma once
#include "kernels/expert_linear.h"

namespace wick::gpu {

inline constexpr int kMaxSlots = 32;

/// The experts of a block's token, in shared memory.
struct TokenExperts {
  int64 offsets[kMaxSlots];  // of their weights, in bytes
  float factors[kMaxSlots];
};

/// Its m counts tokens; its k counts the elements of all rows of x of a token.
struct ExpertSumArgs : LinearArgs {
  const int64* ids;
  const float* factors;
  int64 expert_bytes;  // between an expert's weights and the next one's
  FastDivide size;     // of one row of x
  int32 slots, experts;

  /// Reads a token's experts. The block synchronizes before it uses them.
  template <class Ctx>
  WICK_DEVICE void read(const Ctx& ctx, TokenExperts& of_token, int token, bool reports) const {
    const int slot = ctx.thread();
    if (slot >= slots) return;
    const int64 at = int64(token) * slots + slot, id = ids[at];
    const bool is_valid = 0 <= id && id < experts;
    of_token.offsets[slot] = (is_valid ? id : 0) * expert_bytes;
    of_token.factors[slot] = is_valid ? factors[at] : 0;
    if (!is_valid && reports)
      ctx.fail(StatusCode::kIdOutOfRange, kExpertLinearSum.id, at, id, experts);
  }
};

/// The parts of a token's k (kHasParts).
struct ExpertParts {
  const TokenExperts& experts;
  const uint8* data;
  int64 row_bytes;
  FastDivide of_part;

  WICK_DEVICE int part_of(int k) const { return int(of_part.quotient(uint32(k))); }
  WICK_DEVICE int size() const { return int(of_part.divisor); }
  WICK_DEVICE const uint8* row(int part, int column) const {
    return data + experts.offsets[part] + column * row_bytes;
  }
  WICK_DEVICE float factor(int part) const { return experts.factors[part]; }
};

/// A product's bound of registers, if it has one.
template <class Product>
struct BoundOf {};
template <class Product>
requires requires { Product::kResidentBlocks; }
struct BoundOf<Product> {
  static constexpr int kResidentBlocks = Product::kResidentBlocks;
};

// Each token by itself. Product: LinearVector<W, 1> or RoundedVector<F, 1>.
template <class Product>
struct ExpertSum : BoundOf<Product> {
  static constexpr bool kIsRounded = requires { typename Product::Exact; };
  struct Args : ExpertSumArgs {
    int32 waves, turns;  // as the product's
  };
  static constexpr int threads(int) { return Product::kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  template <class Ctx>
  struct Shared {
    typename Product::template Shared<Ctx> product;
    TokenExperts experts;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    args.read(ctx, shared.experts, block.m, block.n == 0);
    ctx.sync();
    const uint8* x[1] = {args.x_of(block.m)};
    const ExpertParts parts{shared.experts, args.w.data, args.w.row_bytes, args.size};
    if constexpr (kIsRounded) {
      const int columns = Product::Exact::columns_of_block(Ctx::kWave, args.waves) * args.turns;
      Product::multiply(ctx, shared.product, args, args.waves, args.turns, x, parts, block.m,
                        {block.n * columns, args.n});
    } else {
      const int columns = Product::columns_of_block(Ctx::kWave, args.waves);
      Product::multiply(ctx, shared.product, args, args.waves, x, parts, block.m,
                        {block.n * columns, args.n});
    }
  }
};

/// A call of expert_linear_sum on the host.
struct ExpertSumCall {
  /// pack: the weights that are loaded at once.
  static const char* check(const Call& call, int64 pack) {
    const View &x = call.in[0], &w = call.in[1], &ids = call.in[2], &factors = call.in[3],
               &residual = call.in[4], &y = call.out[0];
    if (x.rank != 3 || w.rank != 3 || ids.rank != 2 || factors.rank != 2 || y.rank != 2)
      return "operands are not of ranks 3, 3, 2 and 2";
    for (int d = 0; d < 2; d++)
      if (x.shape[d] != ids.shape[d] || x.shape[d] != factors.shape[d]) return "sizes differ";
    if (y.shape[0] != x.shape[0]) return "sizes differ";
    if (const char* why = ExpertCall::check_weights(call, y.shape[1])) return why;
    if (x.shape[1] > kMaxSlots) return "there are more than 32 experts for a token";
    if (x.shape[0] > kLaunchLimit || x.shape[1] * x.shape[2] > kLaunchLimit)
      return "a dim has more than 2^30 elements";
    if (x.shape[1] > 1 && x.strides[1] != x.shape[2]) return "a token's rows of x have gaps";
    if (x.shape[2] % pack != 0) return "rows are not whole packs";
    const bool has_residual =
        static_cast<const ExpertSumAttributes*>(call.attributes)->has_residual;
    return ids.contiguous() && factors.contiguous() && y.contiguous() &&
                   (!has_residual || residual.contiguous())
               ? check_few_rows(call)
               : "ids, factors, residual or the output are not contiguous";
  }
  static ExpertSumArgs args(const Call& call, int64 tile_n) {
    const View &x = call.in[0], &w = call.in[1];
    ExpertSumArgs a{};
    static_cast<LinearArgs&>(a) = ExpertCall::linear_args(call);
    a.m = int32(x.shape[0]), a.k = int32(x.shape[1] * x.shape[2]);
    a.x_row = ExpertCall::stride(x, 0);
    a.blocks_m = a.m, a.blocks_n = int32(ceil_div<int64>(a.n, tile_n));
    a.ids = call.in[2].as<int64>(), a.factors = call.in[3].as<float>();
    a.expert_bytes = bytes_of(w.dtype, ExpertCall::stride(w, 0));
    a.size = FastDivide::by(x.shape[2]);
    a.slots = int32(x.shape[1]), a.experts = int32(w.shape[0]);
    if (static_cast<const ExpertSumAttributes*>(call.attributes)->has_residual)
      a.residual = call.in[4].data;
    return a;
  }
};

template <class W>
struct ExpertSumLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = ExpertSumCall::check(call, W::kPack)) return why;
    if constexpr (requires { W::kWholePacks; })
      if (!ExpertCall::has_whole_packs(call, W::kPack) || !ExpertCall::packs(call.in[0]))
        return "the rows are not whole packs, aligned to 16 bytes";
    return nullptr;
  }
  static Status run(const Call& call) {
    using Product = LinearVector<W, 1>;
    const int wave = wave_of(call.device);
    const View& x = call.in[0];
    const int waves =
        Product::waves_for(wave, x.shape[0], call.in[1].shape[1], x.shape[1] * x.shape[2]);
    return launch<ExpertSum<Product>>(
        {ExpertSumCall::args(call, Product::columns_of_block(wave, waves)), waves, 1}, call);
  }
};

}  // namespace wick::gpu
