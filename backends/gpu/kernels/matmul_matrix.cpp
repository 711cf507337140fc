// Products of f16 and bf16 on matrix units.
#include "kernels/matmul_matrix.h"

#include "kernels/conv_pointwise.h"
#include "kernels/matmul_direct.h"

namespace wick::gpu {
namespace {

constexpr unsigned kAsyncFamilies = kMatrixFamilies & (kSm80 | kEmulated);

template <class T>
void add_of(KernelList& list) {
  add_product<MatrixMatmulLaunch<T, kWideAsyncTile, true>, kAsyncFamilies, true>(list, "async_256");
  add_product<MatrixMatmulLaunch<T, kSquareAsyncTile, true>, kAsyncFamilies, true>(list,
                                                                                   "async_128");
  add_product<MatrixMatmulLaunch<T, kLargeMatrixTile, true>, kMatrixFamilies & ~kSm80, true>(
      list, "packed_128");
  add_product<MatrixMatmulLaunch<T, kSmallAsyncTile, true>, kAsyncFamilies, true>(list, "async_64");
  add_product<MatrixMatmulLaunch<T, kSmallMatrixTile, true>, kMatrixFamilies & ~kSm80, true>(
      list, "packed_64");
  add_product<MatrixMatmulLaunch<T, kSmallMatrixTile, false>, kMatrixFamilies, true>(list,
                                                                                     "matrix_64");
}

template <class T>
void add_pointwise_of(KernelList& list) {
  constexpr unsigned kOthers = kMatrixFamilies & ~kSm80;
  add_pointwise<MatrixMatmulLaunch<T, kWideAsyncTile, true>, kAsyncFamilies>(list, "product_256");
  add_pointwise<MatrixMatmulLaunch<T, kSquareAsyncTile, true>, kAsyncFamilies>(list, "product_128");
  add_pointwise<MatrixMatmulLaunch<T, kLargeMatrixTile, true>, kOthers>(list, "product_packed_128");
  add_pointwise<MatrixMatmulLaunch<T, kSmallAsyncTile, true>, kAsyncFamilies>(list, "product_64");
  add_pointwise<MatrixMatmulLaunch<T, kSmallMatrixTile, true>, kOthers>(list, "product_packed_64");
}

}  // namespace

void add_matrix_pointwise_conv(KernelList& list) {
  add_pointwise_of<f16>(list), add_pointwise_of<bf16>(list);
}

void add_thin_matmul(KernelList& list) {
  add_direct<f16>(list);
  add_direct<bf16>(list);
  add_product<MatrixMatmulLaunch<f16, kThinAsyncTile, true>, kAsyncFamilies, true>(list,
                                                                                   "async_32");
  add_product<MatrixMatmulLaunch<bf16, kThinAsyncTile, true>, kAsyncFamilies, true>(list,
                                                                                    "async_32");
}

void add_matrix_matmul(KernelList& list) {
  add_of<f16>(list);
  add_of<bf16>(list);
}

}  // namespace wick::gpu
