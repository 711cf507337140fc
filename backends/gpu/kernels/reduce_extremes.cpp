// The largest and the smallest, and whether any or all are true, of every dtype.
#include "kernels/reduce.h"

namespace wick::gpu {
namespace {

template <class Step, class... T>
void add_extremes(KernelList& list, TypeList<T...>) {
  (add_reduction<Extreme<SourceOf<T>>, T>(list, Step::op), ...);
}
template <class Step, class... T>
void add_truths(KernelList& list, TypeList<T...>) {
  (add_reduction<Truths<sizeof(T)>, T>(list, Step::op), ...);
}

}  // namespace

template <>
void add_family<"reduce_extremes">(KernelList& list) {
  add_extremes<Max>(list, Max::Types{});
  add_extremes<Min>(list, Min::Types{});
  add_truths<Any>(list, Any::Types{});
  add_truths<All>(list, All::Types{});
}

}  // namespace wick::gpu
