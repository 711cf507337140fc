// Numbers of a token beside its vectors, for the ops that keep a state.
#pragma once
#include "kernels/convert.h"

namespace wick::cpu::WICK_ISA {

/// An element of T, or of Compute<T> if it is wide.
template <class T>
Compute<T> read_either(const char* from, bool is_wide) {
  using C = Compute<T>;
  return is_wide ? *reinterpret_cast<const C*>(from)
                 : widen_one<C>(reinterpret_cast<const T*>(from));
}

/// A formula of one x. On lanes: a scalar's inline functions would be shared among the instruction
/// sets.
template <class F, class C, class... Numbers>
C of_one(F formula, C x, Numbers... numbers) {
  using L = Lanes<C>;
  alignas(64) C lanes[L::kCount];
  formula(L(x), L(C(numbers))...).store(lanes);
  return lanes[0];
}

}  // namespace wick::cpu::WICK_ISA
