// The formulas of scalar/compare.h.
#include "scalar/compare.h"

#include "kernels/formulas.h"

namespace wick::gpu {
namespace {

struct ComparisonTable {
  using Formulas = Comparisons;
  static constexpr bool kGivesTruths = true;
};
struct PredicateTable {
  using Formulas = Predicates;
  static constexpr bool kGivesTruths = true;
};

}  // namespace

template <>
void add_family<"compare">(KernelList& list) {
  add_formulas<ComparisonTable, 2>(list);
  add_formulas<PredicateTable, 1>(list);
}

}  // namespace wick::gpu
