// The formulas of scalar/unary.h.
#include "scalar/unary.h"
#include "kernels/formulas.h"

namespace wick::gpu {

template <>
void add_family<"unary">(KernelList& list) {
  add_formulas<1>(list, CommonUnary{});
}

}  // namespace wick::gpu
