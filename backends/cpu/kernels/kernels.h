// The families of kernels of an instruction set.
#pragma once
#include "runtime/table.h"

namespace wick::cpu::WICK_ISA {

/// Adds an op of dispatch/ for every float type T: functions.operator()<T>() is its Kernel::data, whose
/// type has kOp and run. Inner strides are 1.
template <class F>
void add_floats(Table& table, F) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr auto data = F{}.template operator()<T>();
    using Data = decltype(F{}.template operator()<T>());
    table.add(Data::kOp, kDTypeOf<T>,
              {.accepts = accepts_unit_strides, .run = Data::run, .data = &data});
  });
}

/// Adds a family's kernels to the set's table: kernels/<family>.cpp has this for itself.
template <Text family>
void add_family(Table& table);
/// Adds the kernels of all families (kernels.cpp).
void add_kernels(Table& table);

}  // namespace wick::cpu::WICK_ISA
