// The formulas of scalar/unary.h.
#include "scalar/unary.h"
#include "kernels/formulas.h"

namespace wick::gpu {
namespace {

struct UnaryTable {
  using Formulas = Joined<Unary, UnaryWithNumbers>;
  static constexpr bool kGivesTruths = false;
};

}  // namespace

template <>
void add_family<"unary">(KernelList& list) {
  add_formulas<UnaryTable, 1>(list);
}

}  // namespace wick::gpu
