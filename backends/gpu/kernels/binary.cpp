// The formulas of scalar/binary.h.
#include "scalar/binary.h"

#include "kernels/formulas.h"

namespace wick::gpu {
namespace {

struct BinaryTable {
  using Formulas = Binary;
  static constexpr bool kGivesTruths = false;
};

}  // namespace

template <>
void add_family<"binary">(KernelList& list) {
  add_formulas<BinaryTable, 2>(list);
}

}  // namespace wick::gpu
