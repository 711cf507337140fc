// Products with weights of another dtype than x: a few rows first, then matrix units
// (linear_matrix.cpp), then plain tiles, which take everything.
#include "kernels/linear.h"

#include "kernels/linear_rounded.h"
#include "kernels/linear_tiled.h"

namespace wick::gpu {

// Not in the header: a launch puts its kernel in every object that includes it.
struct LinearTiledLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return LinearCall::check(call);
  }
  static Status run(const Call& call) {
    return launch<LinearTiled>(LinearCall::args(call, LinearTiled::tile.m, LinearTiled::tile.n),
                               call);
  }
};
namespace {

constexpr DType kFloats[] = {DType::kBf16, DType::kF16, DType::kF32};

template <class... F>
void add_block_vector(KernelList& list, DType x, TypeList<F...>) {
  (add_kernel<RoundedVectorLaunch<F>, kAllFamilies>(list, "rounded_vector",
                                                    {kLinear, x, kKernelRoundsInputs}, F::kDType),
   ...);
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
