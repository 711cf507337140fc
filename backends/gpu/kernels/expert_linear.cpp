// Products whose rows select their weights: a few rows for each expert first, then tiles, which
// take everything.
#include "kernels/expert_linear.h"

#include "kernels/expert_linear_tiled.h"

namespace wick::gpu {
namespace {

template <class... F>
void add_block_vector(KernelList& list, DType x, TypeList<F...>) {
  (add_kernel<ExpertVectorLaunch<BlockWeights<F>>, kAllFamilies>(list, "vector", {kExpertLinear, x},
                                                                 F::kDType),
   ...);
}
template <class... T>
void add_half_vector(KernelList& list, DType x, TypeList<T...>) {
  (add_kernel<ExpertVectorLaunch<HalfWeights<T>>, kAllFamilies>(list, "vector_packs",
                                                                {kExpertLinear, x}, kDTypeOf<T>),
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
    add_block_vector(list, x, BlockTypes{});
    add_half_vector(list, x, TypeList<bf16, f16>{});
    for (const DType w : kFloats)
      add_kernel<ExpertVectorLaunch<FloatWeights>, kAllFamilies>(list, "vector", {kExpertLinear, x},
                                                                 w);
  }
  for (const DType x : kFloats) {
    add_block_tiled(list, x, BlockTypes{});
    for (const DType w : kFloats)
      add_kernel<ExpertTiledLaunch, kAllFamilies>(list, "tiled_64", {kExpertLinear, x}, w);
  }
}

}  // namespace wick::gpu
