// What kernels may do with numbers. Each setting holds for the whole process; any thread may set
// and read it, and an op takes what is set when it is called.
#pragma once
#include "wick/base/export.h"

namespace wick {

/// What products of f32 may round their operands to; they are summed in f32.
enum class MatmulPrecision {
  kF32,   // to nothing less: PyTorch's "highest"
  kTf32,  // to TF32, which has 10 bits behind the point: "high"
  kBf16,  // to bf16, which has 7: "medium"
};
/// Permits matmul and what is made of it to round operands of f32 that far, where that is faster;
/// kF32 at first. A permission, no order: no kernel makes use of it so far, so results are those of
/// kF32 whatever is set.
WICK_API void set_matmul_precision(MatmulPrecision precision);
/// What products of f32 may round their operands to.
WICK_API MatmulPrecision matmul_precision();

/// Demands that the same call gives the same bits on every run; false at first. Everything on the
/// CPU does so anyway. Cards add floats that ids send to one place in any order: scatter_add,
/// index_add and the ops made of them, such as index_put that accumulates and the gradients of
/// index_select, gather and embedding. While this is on, cards sort the ids and add in their order,
/// which takes longer, and some 32 bytes of memory per id; the error bounds are the same.
WICK_API void set_deterministic(bool on);
/// Whether the same call must give the same bits on every run.
WICK_API bool deterministic();

}  // namespace wick
