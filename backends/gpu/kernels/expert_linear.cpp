// Products whose rows select their weights: a few rows for each expert first, then tiles, which
// take everything.
#include "kernels/expert_linear.h"

#include "kernels/expert_linear_tiled.h"
#include "kernels/expert_sum.h"

namespace wick::gpu {
namespace {

/// Adds L for expert_linear and gated_expert_linear.
template <class L>
void add_vector(KernelList& list, const char* form, DType x, DType w) {
  add_kernel<L, kAllFamilies>(list, form, {kExpertLinear, x}, w);
  add_kernel<L, kAllFamilies>(list, form, {kGatedExpertLinear, x}, w);
}
template <class... F>
void add_block_vector(KernelList& list, DType x, TypeList<F...>) {
  (add_vector<ExpertVectorLaunch<BlockWeights<F>>>(list, "vector", x, F::kDType), ...);
}
template <class... T>
void add_half_vector(KernelList& list, DType x, TypeList<T...>) {
  (add_vector<ExpertVectorLaunch<HalfWeights<T>>>(list, "vector_packs", x, kDTypeOf<T>), ...);
  (add_kernel<ExpertSumLaunch<HalfWeights<T>>, kAllFamilies>(list, "vector_packs",
                                                             {kExpertLinearSum, x}, kDTypeOf<T>),
   ...);
}
template <class... F>
void add_block_tiled(KernelList& list, DType x, TypeList<F...>) {
  (add_kernel<ExpertTiledLaunch, kAllFamilies>(list, "tiled_64", {kExpertLinear, x}, F::kDType),
   ...);
}

}  // namespace

template <>
void add_family<"expert_linear">(KernelList& list) {
  constexpr DType kFloats[] = {DType::kBf16, DType::kF16, DType::kF32};
  for (const DType x : kFloats) {
    add_rounded_experts(list, x);
    add_block_vector(list, x, BlockTypes{});
    add_half_vector(list, x, TypeList<bf16, f16>{});
    for (const DType w : kFloats) {
      add_vector<ExpertVectorLaunch<FloatWeights>>(list, "vector", x, w);
      add_kernel<ExpertSumLaunch<FloatWeights>, kAllFamilies>(list, "vector", {kExpertLinearSum, x},
                                                              w);
    }
  }
  for (const DType x : kFloats) {
    add_block_tiled(list, x, BlockTypes{});
    for (const DType w : kFloats)
      add_kernel<ExpertTiledLaunch, kAllFamilies>(list, "tiled_64", {kExpertLinear, x}, w);
  }
}

}  // namespace wick::gpu
