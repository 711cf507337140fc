// gated_delta_rule, with the state in registers.
#include "kernels/delta_rule.h"

namespace wick::gpu {

template <>
void add_family<"delta_rule">(KernelList& list) {
  add_kernels_for_either<DeltaRuleLaunch>(list, "registers", FloatTypes{});
}

}  // namespace wick::gpu
