// Products: a few rows first, on matrix units (matmul_matrix.cpp) and without; then of any number
// of rows, on matrix units, and then plain tiles, which take everything.
#include "kernels/matmul.h"

#include "kernels/conv_pointwise.h"
#include "kernels/matmul_tiled.h"
#include "kernels/matmul_vector.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_vector(KernelList& list, TypeList<T...>) {
  (add_product<VectorMatmulLaunch<T>, kAllFamilies, sizeof(T) == 2>(list, "vector"), ...);
}
template <class... T>
void add_large_tiled(KernelList& list, TypeList<T...>) {
  (add_product<TiledMatmulLaunch<T, kLargePlainTile>, kAllFamilies>(list, "tiled_128"), ...);
}
template <class... T>
void add_small_tiled(KernelList& list, TypeList<T...>) {
  (add_product<TiledMatmulLaunch<T, kSmallPlainTile>, kAllFamilies>(list, "tiled_64"), ...);
}

}  // namespace

void add_plain_pointwise_conv(KernelList& list) {
  add_pointwise<TiledMatmulLaunch<float, kLargePlainTile, true>, kAllFamilies>(list, "product_128");
}

Status finish_linear(const Call& call, bool with_bias) {
  const auto finish = [&]<class T>(T) {
    Epilogue<T> epilogue = Epilogue<T>::of(call);
    if (!with_bias) epilogue.bias = nullptr;
    return finish_product(call, epilogue);
  };
  switch (call.in[0].dtype) {
    case DType::kF16:
      return finish(f16());
    case DType::kBf16:
      return finish(bf16());
    case DType::kF64:
      return finish(double());
    default:
      return finish(float());
  }
}

template <>
void add_family<"matmul">(KernelList& list) {
  using Types = TypeList<bf16, f16, float>;
  add_thin_matmul(list);
  add_vector(list, Types{});
  add_product<VectorMatmulLaunch<double>, kAllFamilies>(list, "vector");
  add_matrix_matmul(list);
  add_product<TiledMatmulLaunch<float, kLargePlainTile, true>, kAllFamilies>(list, "packed_128");
  add_double_matmul(list);
  add_large_tiled(list, Types{});
  add_small_tiled(list, Types{});
  add_kernel<TiledMatmulLaunch<f8e4m3, kSmallPlainTile>, kAllFamilies>(list, "tiled_64");
  add_kernel<TiledMatmulLaunch<f8e5m2, kSmallPlainTile>, kAllFamilies>(list, "tiled_64");
  add_kernel<TiledMatmulLaunch<double, kDoublePlainTile>, kAllFamilies>(list, "tiled_64");
  add_integer_matmul(list);
}

}  // namespace wick::gpu
