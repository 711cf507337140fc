// linear_mixed_parts: one row of x by weights of several block formats, in integers
// (linear_rounded.h). A block has columns of one part, and takes the code of its format.
#include "kernels/linear_rounded.h"

namespace wick::gpu {
namespace {

template <class... F>
struct MixedParts {
  template <class G>
  using Product = RoundedVector<G, 1>;
  using Any = Product<Q4_K>;  // sizes that no format changes
  using Exact = LinearVector<AnyBlocksBy8<F...>, 1>;
  struct Args : LinearArgs {
    DType dtypes[3];
    int32 blocks[2];     // of the first part; of the first two
    int32 waves, turns;  // as RoundedVector's
  };
  static constexpr int kResidentBlocks = Any::kResidentBlocks;
  static constexpr int threads(int) { return Any::kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_n}; }
  template <class Ctx>
  using Shared = typename Any::template Shared<Ctx>;

  template <class Ctx>
  static WICK_DEVICE void prefetch(const Ctx& ctx, const Args& args) {
    const Part part = part_of(ctx, args);
    args.prefetch(ctx, part.columns.first, columns_of_block(ctx, args));
  }

  template <class Ctx>
  static WICK_INLINE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const Part part = part_of(ctx, args);
    const uint8* x[1] = {args.x_of(0)};
    const auto row_of = [&](int column) { return args.row_of(column); };
    bool done = false;
    static_cast<void>(
        ((part.dtype == F::kDType &&
          (void(done = Product<F>::multiply_rounded(ctx, shared, args, args.waves, args.turns, x,
                                                    row_of, 0, part.columns)),
           true)) ||
         ...));
    if (done) return;
    float factor = 1;
    if (args.norm) factor = norm_factor_of(ctx, shared.squares, args, x[0]);
    WeightRows format = args.w;
    format.dtype = part.dtype;
    const int of_turn = Any::Exact::columns_of_block(Ctx::kWave, args.waves);
    WICK_ROLL
    for (int turn = 0; turn < args.turns; turn++) {
      ctx.sync();  // the sums of the turn before are read
      Exact::multiply(ctx, shared.exact, args, format, args.waves, x, row_of, 0,
                      {part.columns.first + turn * of_turn, part.columns.end}, factor);
    }
  }

 private:
  struct Part {
    ColumnRange columns;
    DType dtype;
  };
  template <class Ctx>
  static WICK_DEVICE int columns_of_block(const Ctx&, const Args& args) {
    return Any::Exact::columns_of_block(Ctx::kWave, args.waves) * args.turns;
  }
  /// The block's columns. The choices are among values, as in LinearArgs::row_of.
  template <class Ctx>
  static WICK_INLINE Part part_of(const Ctx& ctx, const Args& args) {
    const int of_first = args.blocks[0], of_two = args.blocks[1];
    const int begin_of_second = args.more[0].first, begin_of_third = args.more[1].first;
    const DType dtype_of_second = args.dtypes[1], dtype_of_third = args.dtypes[2];
    int block = ctx.block().x, first = 0, end = begin_of_second;
    DType dtype = args.dtypes[0];
    if (block >= of_two)
      block -= of_two, first = begin_of_third, end = args.n, dtype = dtype_of_third;
    else if (block >= of_first)
      block -= of_first, first = begin_of_second, end = begin_of_third, dtype = dtype_of_second;
    return {{first + block * columns_of_block(ctx, args), end}, dtype};
  }
};

template <class List>
struct MixedPartsLaunch;
template <class... F>
struct MixedPartsLaunch<TypeList<F...>> {
  using K = MixedParts<F...>;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const LinearCall linear(call);
    for (int i = 0; i < linear.num_weights; i++)
      if (!((linear.weight_dtype(i) == F::kDType) || ...)) return "it has not all of these formats";
    return linear.check();
  }
  static Status run(const Call& call) {
    const LinearCall linear(call);
    const int wave = wave_of(call.device);
    const int64 n = linear.n();
    const int waves = K::Any::waves_for(wave, 1, n, linear.k());
    const int turns = K::Any::turns_for(wave, waves, 1, n);
    const int columns = K::Any::Exact::columns_of_block(wave, waves) * turns;
    typename K::Args args{linear.args(1, columns), {}, {}, waves, turns};
    int32 blocks = 0;
    for (int i = 0; i < 3; i++) {
      const bool is_part = i < linear.num_weights;
      args.dtypes[i] = linear.weight_dtype(is_part ? i : 0);
      if (is_part) blocks += int32(ceil_div<int64>(linear.weight(i).shape[0], columns));
      if (i < 2) args.blocks[i] = blocks;
    }
    args.blocks_n = blocks;
    return launch<K>(args, call);
  }
};

}  // namespace

template <class... Pairs>
void add_pairs(KernelList& list, DType x, TypeList<Pairs...>) {
  const auto add = [&](const Op& op) {
    (add_kernel<MixedPartsLaunch<Pairs>, kAllFamilies>(list, "rounded_vector",
                                                       {op, x, kKernelRoundsInputs}, DType::kU8),
     ...);
  };
  add(kLinearMixedParts);
  add(kRmsNormLinearMixedParts);
}

/// The formats that files mix. A kernel with the code of many would keep its arguments in scratch
/// memory on AMD's cards.
using MixedPairs = TypeList<TypeList<Q4_K, Q6_K>, TypeList<Q5_K, Q6_K>, TypeList<Q4_K, Q5_K>,
                            TypeList<Q3_K, Q5_K>, TypeList<Q3_K, Q4_K>, TypeList<Q2_K, Q4_K>,
                            TypeList<IQ4_XS, Q5_K>, TypeList<Q4_0, Q8_0>, TypeList<Q4_0, Q5_1>>;

void add_mixed_parts(KernelList& list) {
  constexpr DType kFloats[] = {DType::kBf16, DType::kF16, DType::kF32};
  for (const DType x : kFloats) add_pairs(list, x, MixedPairs{});
}

}  // namespace wick::gpu
