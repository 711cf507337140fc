// Convolutions of f16 and bf16 on matrix units.
#include "kernels/conv_matrix.h"

namespace wick::gpu {
namespace {

template <class T, MatrixTile tile>
void add_of(KernelList& list, const char* form) {
  using Launch = MatrixConvLaunch<T, tile>;
  add_kernel<Launch, kMatrixFamilies>(list, form, {kConv, kDTypeOf<T>});
  add_kernel<Launch, kMatrixFamilies>(list, form, {kConvInputGradient, kDTypeOf<T>});
  add_kernel<MatrixConvWeightLaunch<T, tile>, kMatrixFamilies>(list, form);
}

}  // namespace

void add_matrix_conv(KernelList& list) {
  add_of<f16, kLargeMatrixTile>(list, "matrix_128");
  add_of<bf16, kLargeMatrixTile>(list, "matrix_128");
  add_of<f16, kSmallMatrixTile>(list, "matrix_64");
  add_of<bf16, kSmallMatrixTile>(list, "matrix_64");
}

}  // namespace wick::gpu
