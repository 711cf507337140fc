// Elementwise ops and casts: one set of loops for all formulas, types and layouts.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"

namespace wick::cpu {

inline constexpr int kMaxInputs = 3;

/// The functions of an elementwise kernel (Kernel::data).
struct Elementwise {
  Apply apply;  // nullptr: y = x, a cast. With one operand, b is the call's attributes
  Access in[kMaxInputs];
  Access out;
  Choose choose = nullptr;  // replaces apply for three inputs
};

/// Kernel::run functions, by number of inputs.
Status run_unary(const Kernel* kernel, const Call* call);
Status run_binary(const Kernel* kernel, const Call* call);
Status run_where(const Kernel* kernel, const Call* call);
/// Runs a cast to the same dtype. Kernel::data is an Access of the element size.
Status run_copy(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
