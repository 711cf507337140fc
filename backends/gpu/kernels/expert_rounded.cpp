// A few rows of x by block weights that the rows select, in integers (linear_rounded.h).
#include "kernels/expert_sum.h"
#include "kernels/linear_rounded.h"

namespace wick::gpu {
namespace {

// Each row of y by itself, as RoundedVector computes one.
template <class F>
struct ExpertRounded {
  using Row = RoundedVector<F, 1>;
  struct Args : ExpertArgs {
    int32 waves, turns;
  };
  static constexpr int kResidentBlocks = Row::kResidentBlocks;
  static constexpr int threads(int) { return Row::kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  template <class Ctx>
  using Shared = typename Row::template Shared<Ctx>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int64 expert = args.ids[block.m];
    const uint8* x[1] = {args.x_of(block.m)};
    const int columns = Row::Exact::columns_of_block(Ctx::kWave, args.waves) * args.turns;
    if (0 <= expert && expert < args.experts)
      return Row::multiply(ctx, shared, args, args.waves, args.turns, x,
                           [&](int column) { return args.row_of(expert, column); }, block.m,
                           {block.n * columns, args.n});
    fail_row(ctx, args, block.m, block.n * columns, columns,
             args.is_gated ? kGatedExpertLinear.id : kExpertLinear.id);
  }
};

template <class F>
struct ExpertRoundedLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = ExpertCall::check(call)) return why;
    return check_few_rows(call);
  }
  static Status run(const Call& call) {
    using K = ExpertRounded<F>;
    const int wave = wave_of(call.device);
    const int64 rows = ExpertCall::rows(call), n = ExpertCall::columns(call);
    const int waves = K::Row::waves_for(wave, rows, n, call.in[0].shape[2]);
    const int turns = K::Row::turns_for(wave, waves, rows, n);
    const int columns = K::Row::Exact::columns_of_block(wave, waves) * turns;
    return launch<K>({ExpertCall::args(call, rows, columns), waves, turns}, call);
  }
};

template <class F>
struct ExpertSumRoundedLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return ExpertSumCall::check(call, kBlockElements<F>);
  }
  static Status run(const Call& call) {
    using Product = RoundedVector<F, 1>;
    const View& x = call.in[0];
    const int wave = wave_of(call.device);
    const int64 rows = x.shape[0], n = call.in[1].shape[1];
    const int waves = Product::waves_for(wave, rows, n, x.shape[1] * x.shape[2]);
    const int turns = Product::turns_for(wave, waves, rows, n);
    const int columns = Product::Exact::columns_of_block(wave, waves) * turns;
    return launch<ExpertSum<Product>>({ExpertSumCall::args(call, columns), waves, turns}, call);
  }
};

template <class... F>
void add_all(KernelList& list, DType x, TypeList<F...>) {
  const auto add = [&]<class L>(const Op& op, DType weights) {
    add_kernel<L, kAllFamilies>(list, "rounded_vector", {op, x, kKernelRoundsInputs}, weights);
  };
  (add.template operator()<ExpertRoundedLaunch<F>>(kExpertLinear, F::kDType), ...);
  (add.template operator()<ExpertRoundedLaunch<F>>(kGatedExpertLinear, F::kDType), ...);
  (add.template operator()<ExpertSumRoundedLaunch<F>>(kExpertLinearSum, F::kDType), ...);
}

}  // namespace

void add_rounded_experts(KernelList& list, DType x) { add_all(list, x, BlockTypes{}); }

}  // namespace wick::gpu
