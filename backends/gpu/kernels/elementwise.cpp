// The formulas of scalar/unary.h, every dtype in three forms. Those of scalar/binary.h have a unit
// of their own.
#include "kernels/formulas.h"
#include "scalar/unary.h"

namespace wick::gpu {

template <>
void add_family<"elementwise">(KernelList& list) {
  add_formulas<1>(list, CommonUnary{});
}

}  // namespace wick::gpu
