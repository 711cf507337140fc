// Sums and products of every dtype, and sums of squares.
#include "kernels/reduce.h"

namespace wick::gpu {
namespace {

template <class Step, class... T>
void add_totals(KernelList& list, TypeList<T...>) {
  (add_reduction<Either<is_floating(kDTypeOf<T>), FloatTotals<Step, SourceOf<T>>,
                        IntegerTotals<Step, sizeof(T)>>,
                 T>(list, Step::op),
   ...);
}

template <class Step, class... T>
void add_terms(KernelList& list, TypeList<T...>) {
  (add_reduction<FloatTotals<Step, TermSource<Step, T>>, T>(list, Step::op), ...);
}

}  // namespace

template <>
void add_family<"reduce">(KernelList& list) {
  add_totals<Sum>(list, Sum::Types{});
  add_totals<Prod>(list, Prod::Types{});
  add_terms<SumOfSquares>(list, SumOfSquares::Types{});
}

}  // namespace wick::gpu
