// Moving and adding elements for gather, scatter and scatter_add.
#include "dispatch/gather.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/binary.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class C>
void add(const void* a, const void* b, void* y, int64 n) {
  const C* x0 = static_cast<const C*>(a);
  const C* x1 = static_cast<const C*>(b);
  C* to = static_cast<C*>(y);
  for (int64 i = 0; i < n; i++) to[i] = Add{}(x0[i], x1[i]);
}

template <class C>
void add_each(void* into, const int64* offsets, const void* x, int64 n) {
  C* y = static_cast<C*>(into);
  const C* values = static_cast<const C*>(x);
  for (int64 i = 0; i < n; i++) y[offsets[i]] = Add{}(y[offsets[i]], values[i]);
}

template <class T>
constexpr Access kMoving = copy_access<sizeof(T)>();

template <class T>
constexpr ScatterAddFunctions kScatterAddFunctions = {
    reading<T, ComputeIn<Add, T>>(), writing<T, ComputeIn<Add, T>>(), add<ComputeIn<Add, T>>,
    add_each<ComputeIn<Add, T>>};

}  // namespace

template <>
void add_family<"gather">(Table& table) {
  for_each(StoredTypes{}, [&]<class T>() {
    table.add(kGather, kDTypeOf<T>, {.run = run_gather, .data = &kMoving<T>});
    table.add(kScatter, kDTypeOf<T>,
              {.run = run_scatter, .data = &kMoving<T>, .flags = kKernelAccumulates});
  });
  for_each(Add::Types{}, [&]<class T>() {
    table.add(kScatterAdd, kDTypeOf<T>,
              {.scratch_bytes = scatter_add_scratch,
               .run = run_scatter_add,
               .data = &kScatterAddFunctions<T>,
               .flags = kKernelAccumulates});
  });
}

}  // namespace wick::cpu::WICK_ISA
