// Products with weights of another dtype than x: a few rows first, then matrix units
// (linear_matrix.cpp), then plain tiles, which take everything.
#include "kernels/linear.h"

#include "kernels/linear_rounded.h"
#include "kernels/linear_tiled.h"

namespace wick::gpu {

// Not in the header: a launch puts its kernel in every object that includes it.
struct LinearTiledLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const LinearCall linear(call);
    if (const char* why = linear.check()) return why;
    return linear.check_rows();
  }
  static Status run(const Call& call) {
    return launch<LinearTiled>(LinearCall(call).args(LinearTiled::tile.m, LinearTiled::tile.n),
                               call);
  }
};
namespace {

constexpr DType kFloats[] = {DType::kBf16, DType::kF16, DType::kF32};

template <class... F>
void add_block_vector(KernelList& list, DType x, TypeList<F...>) {
  (add_linear<RoundedVectorLaunch<F>, kAllFamilies>(list, "rounded_vector", x, F::kDType,
                                                    kKernelRoundsInputs),
   ...);
  (add_linear<LinearVectorLaunch<BlockWeights<F>>, kAllFamilies>(list, "vector", x, F::kDType),
   ...);
  (add_several<RoundedVectorLaunch<F>, kAllFamilies>(list, "rounded_vector", x, F::kDType,
                                                     kKernelRoundsInputs),
   ...);
  (add_several<LinearVectorLaunch<BlockWeights<F>>, kAllFamilies>(list, "vector", x, F::kDType),
   ...);
  (add_normalized<RoundedVectorLaunch<F>, kAllFamilies>(list, "rounded_vector", x, F::kDType,
                                                        kKernelRoundsInputs),
   ...);
}
/// Of x's dtype: linear's own are matmul's.
template <class... T>
void add_half_vector(KernelList& list, TypeList<T...>) {
  (add_several<LinearVectorLaunch<HalfWeights<T>, 1>, kAllFamilies>(list, "vector_packs",
                                                                    kDTypeOf<T>, kDTypeOf<T>),
   ...);
}
template <class... F>
void add_block_tiled(KernelList& list, DType x, TypeList<F...>) {
  (add_linear<LinearTiledLaunch, kAllFamilies>(list, "tiled_64", x, F::kDType), ...);
}

}  // namespace

template <>
void add_family<"linear">(KernelList& list) {
  add_direct_linear(list);
  for (const DType x : kFloats) {
    add_block_vector(list, x, BlockTypes{});
    for (const DType w : kFloats)
      if (w != x) add_linear<LinearVectorLaunch<FloatWeights>, kAllFamilies>(list, "vector", x, w);
  }
  add_mixed_parts(list);
  add_half_vector(list, TypeList<bf16, f16>{});
  add_several<LinearVectorLaunch<FloatWeights>, kAllFamilies>(list, "vector", DType::kF32,
                                                              DType::kF32);
  add_matrix_linear(list);
  for (const DType x : kFloats) {
    add_block_tiled(list, x, BlockTypes{});
    for (const DType w : kFloats)
      if (w != x) add_linear<LinearTiledLaunch, kAllFamilies>(list, "tiled_64", x, w);
  }
}

}  // namespace wick::gpu
