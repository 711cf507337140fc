// Formulas of one line. Freestanding.
#pragma once
#include "wick/abi/op.h"

/// A struct `name` with an op and a formula that is one short expression:
///
///   WICK_FORMULA(Exp, "exp", "T:T", FloatTypes, kShort, (T x), exp(x));
///
/// the op's name and operands (Op), the dtypes that it has kernels of, what is true of the formula,
/// its parameters, its value. What is true: kLong, its code is long; kModular, integers wrap (see
/// ComputeIn in math.h); kShort, neither.
#define WICK_FORMULA(name, op_name, operands, types, fact, parameters, value) \
  struct name {                                                               \
    static constexpr Op op{op_name, operands};                                \
    static constexpr bool fact = true;                                        \
    using Types = types;                                                      \
    template <class T>                                                        \
    WICK_HD T operator() parameters const {                                   \
      return value;                                                           \
    }                                                                         \
  }
