// Products with weights of another dtype than x: a few rows first, then matrix units
// (linear_matrix.cpp), then plain tiles, which take everything.
#include "kernels/linear.h"

#include "kernels/linear_tiled.h"

namespace wick::gpu {
namespace {

constexpr DType kFloats[] = {DType::kBf16, DType::kF16, DType::kF32};

template <class... F>
void add_block_vector(KernelList& list, DType x, TypeList<F...>) {
  (add_kernel<LinearVectorLaunch<BlockWeights<F>>, kAllFamilies>(list, "vector", {kLinear, x},
                                                                 F::kDType),
   ...);
}
template <class... F>
void add_block_tiled(KernelList& list, DType x, TypeList<F...>) {
  (add_kernel<LinearTiledLaunch, kAllFamilies>(list, "tiled_64", {kLinear, x}, F::kDType), ...);
}

}  // namespace

template <>
void add_family<"linear">(KernelList& list) {
  for (const DType x : kFloats) {
    add_block_vector(list, x, BlockTypes{});
    for (const DType w : kFloats)
      if (w != x)
        add_kernel<LinearVectorLaunch<FloatWeights>, kAllFamilies>(list, "vector", {kLinear, x}, w);
  }
  add_matrix_linear(list);
  for (const DType x : kFloats) {
    add_block_tiled(list, x, BlockTypes{});
    for (const DType w : kFloats)
      if (w != x) add_kernel<LinearTiledLaunch, kAllFamilies>(list, "tiled_64", {kLinear, x}, w);
  }
}

}  // namespace wick::gpu
