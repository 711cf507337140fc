// The formulas of scalar/binary.h.
#include "scalar/binary.h"

#include "kernels/formulas.h"

namespace wick::gpu {

template <>
void add_family<"binary">(KernelList& list) {
  add_formulas<2>(list, CommonBinary{});
}

}  // namespace wick::gpu
