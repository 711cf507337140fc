// Products of f16 and bf16 on matrix units.
#include "kernels/matmul_matrix.h"

namespace wick::gpu {
namespace {

template <class T>
void add_rows_of(RowList& list) {
  add_row<MatrixMatmulRow<T, kLargeMatrixTile>, kMatrixFamilies>(
      list, kRowName<OpId::kMatmul, kDTypeOf<T>, "matrix_128">);
  add_row<MatrixMatmulRow<T, kSmallMatrixTile>, kMatrixFamilies>(
      list, kRowName<OpId::kMatmul, kDTypeOf<T>, "matrix_64">);
}

}  // namespace

void add_matrix_matmul_rows(RowList& list) {
  add_rows_of<f16>(list);
  add_rows_of<bf16>(list);
}

}  // namespace wick::gpu
