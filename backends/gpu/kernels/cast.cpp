// Casts between every pair of dtypes, and copies of each.
#include "kernels/cast.h"

namespace wick::gpu {
namespace {

/// One row type, and so one kernel, for every other input dtype.
template <class Row, class To>
void add_casts_to(RowList& list, const char* name) {
  static RowEntry entries[kNumDTypes];
  for (int from = 0; from < kNumDTypes; from++) {
    if (DType(from) == kDTypeOf<To> || !is_computed(DType(from))) continue;
    add_shared_row<Row>(list, entries[from], name,
                        {OpId::kCast, {DType(from), kDTypeOf<To>}, 1, 1});
  }
}

template <class T>
struct CopySignature {
  static constexpr Signature signature{OpId::kCast, {kDTypeOf<T>, kDTypeOf<T>}, 1, 1};
};

template <class... T>
void add_rows_for(RowList& list, TypeList<T...>) {
  (add_map_rows<CopySignature<T>, CopyOf<sizeof(T)>>(list), ...);
  (add_casts_to<ContiguousCastRow<T>, T>(list, kRowName<OpId::kCast, kDTypeOf<T>, "contiguous">),
   ...);
  (add_casts_to<StridedCastRow<T>, T>(list, kRowName<OpId::kCast, kDTypeOf<T>, "strided">), ...);
}

}  // namespace

void add_cast_rows(RowList& list) { add_rows_for(list, AllTypes{}); }

}  // namespace wick::gpu
