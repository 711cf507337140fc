// The formulas of scalar/binary.h: adding one to its list is all there is to do.
#include "scalar/binary.h"
#include "kernels/elementwise.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {

template <>
void add_family<"binary">(Table& table) {
  for_each(Binary{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>,
                {.run = run_binary, .data = &kElementwise<F, T, 2>, .flags = kKernelInPlace});
    });
  });
}

}  // namespace wick::cpu::WICK_ISA
