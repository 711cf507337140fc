// Where the largest and the smallest are, of every dtype.
#include "kernels/reduce.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_of(KernelList& list, TypeList<T...>) {
  (add_reduction<ArgExtreme<SourceOf<T>>, T>(list, kArgmax), ...);
  (add_reduction<ArgExtreme<SourceOf<T>>, T>(list, kArgmin), ...);
}

}  // namespace

template <>
void add_family<"arg_reduce">(KernelList& list) {
  add_of(list, NumericTypes{});
}

}  // namespace wick::gpu
