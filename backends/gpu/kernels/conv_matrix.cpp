// Convolutions of f16 and bf16 on matrix units.
#include "kernels/conv_matrix.h"

namespace wick::gpu {
namespace {

constexpr unsigned kAsyncFamilies = kMatrixFamilies & (kSm80 | kEmulated);

template <class T, MatrixTile tile, unsigned families>
void add_packed(KernelList& list, const char* form) {
  using Launch = MatrixConvLaunch<T, tile, true>;
  add_kernel<Launch, families>(list, form, {kConv, kDTypeOf<T>});
  add_kernel<Launch, families>(list, form, {kConvInputGradient, kDTypeOf<T>});
}
template <class T, MatrixTile tile>
void add_of(KernelList& list, const char* form) {
  using Launch = MatrixConvLaunch<T, tile, false>;
  add_kernel<Launch, kMatrixFamilies>(list, form, {kConv, kDTypeOf<T>});
  add_kernel<Launch, kMatrixFamilies>(list, form, {kConvInputGradient, kDTypeOf<T>});
  add_kernel<MatrixConvWeightLaunch<T, tile>, kMatrixFamilies>(list, form);
}
template <class T>
void add_all_packed(KernelList& list) {
  add_packed<T, kWideAsyncTile, kAsyncFamilies>(list, "async_256");
  add_packed<T, kSquareAsyncTile, kAsyncFamilies>(list, "async_128");
  add_packed<T, kLargeMatrixTile, kMatrixFamilies & ~kSm80>(list, "packed_128");
  add_packed<T, kSmallAsyncTile, kAsyncFamilies>(list, "async_64");
  add_packed<T, kSmallMatrixTile, kMatrixFamilies & ~kSm80>(list, "packed_64");
}

}  // namespace

void add_matrix_conv(KernelList& list) {
  add_all_packed<f16>(list), add_all_packed<bf16>(list);
  add_of<f16, kLargeMatrixTile>(list, "matrix_128");
  add_of<bf16, kLargeMatrixTile>(list, "matrix_128");
  add_of<f16, kSmallMatrixTile>(list, "matrix_64");
  add_of<bf16, kSmallMatrixTile>(list, "matrix_64");
}

}  // namespace wick::gpu
