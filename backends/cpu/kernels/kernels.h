// The families of kernels of an instruction set.
#pragma once
#include "runtime/table.h"

namespace wick::cpu::WICK_ISA {

/// Adds a family's kernels to the set's table: kernels/<family>.cpp has this for itself.
template <Text family>
void add_family(Table& table);
/// Adds the kernels of all families (kernels.cpp).
void add_kernels(Table& table);

}  // namespace wick::cpu::WICK_ISA
