// Products of f16 and bf16 on matrix units.
#include "kernels/matmul_matrix.h"

namespace wick::gpu {
namespace {

template <class T>
void add_of(KernelList& list) {
  add_kernel<MatrixMatmulLaunch<T, kLargeMatrixTile>, kMatrixFamilies>(list, "matrix_128");
  add_kernel<MatrixMatmulLaunch<T, kSmallMatrixTile>, kMatrixFamilies>(list, "matrix_64");
}

}  // namespace

void add_matrix_matmul(KernelList& list) {
  add_of<f16>(list);
  add_of<bf16>(list);
}

}  // namespace wick::gpu
