// Products of f16 and bf16 with weights in blocks, on matrix units.
#include "kernels/linear_matrix.h"

namespace wick::gpu {
namespace {

template <class T, class... F>
void add_of(KernelList& list, TypeList<F...>) {
  const auto add = [&list](DType weights) {
    constexpr Signature signature{kLinear, kDTypeOf<T>};
    add_kernel<LinearMatrixLaunch<T, kLargeMatrixTile>, kMatrixFamilies>(list, "matrix_128",
                                                                         signature, weights);
    add_kernel<LinearMatrixLaunch<T, kSmallMatrixTile>, kMatrixFamilies>(list, "matrix_64",
                                                                         signature, weights);
  };
  (add(F::kDType), ...);
}

}  // namespace

void add_matrix_linear(KernelList& list) {
  add_of<f16>(list, BlockTypes{});
  add_of<bf16>(list, BlockTypes{});
}

}  // namespace wick::gpu
