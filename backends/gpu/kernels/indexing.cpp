// Gather and scatter of every dtype, by the size of its elements, and scatter_add of the numeric
// ones; ids are i64.
#include "kernels/indexing.h"

namespace wick::gpu {
namespace {

/// One row type for every dtype.
template <class Row, OpId op>
void add_move_row(RowList& list, DType dtype, const char* name) {
  static RowEntry entries[kNumDTypes];
  constexpr uint32 flags =
      op == OpId::kScatter ? uint32(kRowAccumulates) : 0;  // what no id names stays
  add_shared_row<Row>(list, entries[int(dtype)], name,
                      {op, {dtype, DType::kI64, dtype}, 2, 1, flags});
}

template <OpId op, class... T>
void add_move_rows(RowList& list, TypeList<T...>) {
  (add_move_row<MoveRowsRow<op>, op>(list, kDTypeOf<T>, kRowName<op, kDTypeOf<T>, "rows">), ...);
  (add_move_row<MoveStridedRow<op>, op>(list, kDTypeOf<T>, kRowName<op, kDTypeOf<T>, "strided">),
   ...);
}

template <class... T>
void add_scatter_add_rows(RowList& list, TypeList<T...>) {
  (add_row<ScatterAddRow<T>, kAllFamilies>(list,
                                           kRowName<OpId::kScatterAdd, kDTypeOf<T>, "atomic">),
   ...);
}

template <class Sum, class... T>
void add_narrow_scatter_add_rows(RowList& list, TypeList<T...>) {
  (add_row<NarrowScatterAddRow<T, Sum>, kAllFamilies>(
       list, kRowName<OpId::kScatterAdd, kDTypeOf<T>, "atomic_in_scratch">),
   ...);
}

}  // namespace

void add_indexing_rows(RowList& list) {
  add_move_rows<OpId::kGather>(list, AllTypes{});
  add_move_rows<OpId::kScatter>(list, AllTypes{});
  add_scatter_add_rows(list, TypeList<uint32, int32, int64, float, double>{});
  add_narrow_scatter_add_rows<uint32>(list, TypeList<uint8>{});
  add_narrow_scatter_add_rows<float>(list, TypeList<f8e4m3, f8e5m2, bf16, f16>{});
}

}  // namespace wick::gpu
