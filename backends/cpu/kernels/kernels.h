// How the kernel families of one instruction set are added to its table.
#pragma once
#include "runtime/table.h"

namespace wick::cpu::WICK_ISA {

/// Adds an op of dispatch/ for every float type T. F::operator()<T>() makes its Kernel::data, whose
/// type has kOp and run. The kernels require inner strides of 1.
template <class F>
void add_floats(Table& table, F) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr auto data = F{}.template operator()<T>();
    using Data = decltype(F{}.template operator()<T>());
    table.add(Data::kOp, kDTypeOf<T>,
              {.accepts = accepts_unit_strides, .run = Data::run, .data = &data});
  });
}

/// Adds a family's kernels to the table. kernels/<family>.cpp specializes it.
template <Text family>
void add_family(Table& table);
/// Adds the kernels of all families (kernels.cpp).
void add_kernels(Table& table);

}  // namespace wick::cpu::WICK_ISA
