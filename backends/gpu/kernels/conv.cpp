// Convolutions: groups of few channels first, then windows of one element, which are products
// (matmul.cpp), then matrix units (conv_matrix.cpp), then plain tiles, which take everything.
#include "kernels/conv.h"

#include "kernels/conv_direct.h"
#include "kernels/conv_pointwise.h"
#include "kernels/conv_tiled.h"

namespace wick::gpu {
namespace {

template <class T>
void add_direct(KernelList& list) {
  add_kernel<DirectConvLaunch<T>, kAllFamilies>(list, "direct", {kConv, kDTypeOf<T>});
  add_kernel<DirectConvLaunch<T>, kAllFamilies>(list, "direct", {kConvInputGradient, kDTypeOf<T>});
  add_kernel<DirectConvWeightLaunch<T>, kAllFamilies>(list, "direct");
}
template <class T, PlainTile tile>
void add_tiled(KernelList& list, const char* form) {
  using Launch = TiledConvLaunch<T, tile>;
  add_kernel<Launch, kAllFamilies>(list, form, {kConv, kDTypeOf<T>});
  add_kernel<Launch, kAllFamilies>(list, form, {kConvInputGradient, kDTypeOf<T>});
  add_kernel<TiledConvWeightLaunch<T, tile>, kAllFamilies>(list, form);
}

}  // namespace

template <>
void add_family<"conv">(KernelList& list) {
  add_direct<bf16>(list), add_direct<f16>(list);
  add_direct<float>(list), add_direct<double>(list);
  add_matrix_pointwise_conv(list), add_plain_pointwise_conv(list);
  add_matrix_conv(list);
  add_tiled<float, kLargePlainTile>(list, "tiled_128");
  add_tiled<bf16, kSmallPlainTile>(list, "tiled_64");
  add_tiled<f16, kSmallPlainTile>(list, "tiled_64");
  add_tiled<float, kSmallPlainTile>(list, "tiled_64");
  add_tiled<double, kDoublePlainTile>(list, "tiled_64");
}

}  // namespace wick::gpu
