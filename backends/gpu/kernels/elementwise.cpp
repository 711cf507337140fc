// The formulas of scalar/unary.h, every dtype in three forms. Those of scalar/binary.h have a unit
// of their own.
#include "kernels/formulas.h"
#include "scalar/unary.h"

namespace wick::gpu {

void add_elementwise_rows(RowList& list) {
  add_formulas<1>(list, CommonUnary{});
  add_binary_rows(list);
}

}  // namespace wick::gpu
