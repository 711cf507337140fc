// Products: a few rows first, then matrix units (matmul_matrix.cpp), then plain tiles, which take
// everything.
#include "kernels/matmul.h"

#include "kernels/matmul_tiled.h"
#include "kernels/matmul_vector.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_vector_rows(RowList& list, TypeList<T...>) {
  (add_row<VectorMatmulRow<T>, kAllFamilies>(list, kRowName<OpId::kMatmul, kDTypeOf<T>, "vector">),
   ...);
}
template <class... T>
void add_large_tiled_rows(RowList& list, TypeList<T...>) {
  (add_row<TiledMatmulRow<T, kLargePlainTile>, kAllFamilies>(
       list, kRowName<OpId::kMatmul, kDTypeOf<T>, "tiled_128">),
   ...);
}
template <class... T>
void add_small_tiled_rows(RowList& list, TypeList<T...>) {
  (add_row<TiledMatmulRow<T, kSmallPlainTile>, kAllFamilies>(
       list, kRowName<OpId::kMatmul, kDTypeOf<T>, "tiled_64">),
   ...);
}

}  // namespace

void add_matmul_rows(RowList& list) {
  using Types = TypeList<bf16, f16, float, double>;
  add_vector_rows(list, Types{});
  add_matrix_matmul_rows(list);
  add_large_tiled_rows(list, TypeList<bf16, f16, float>{});
  add_small_tiled_rows(list, TypeList<f8e4m3, f8e5m2, bf16, f16, float>{});
  add_row<TiledMatmulRow<double, kDoublePlainTile>, kAllFamilies>(
      list, kRowName<OpId::kMatmul, DType::kF64, "tiled_64">);
}

}  // namespace wick::gpu
