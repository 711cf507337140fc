// Which numbers a dtype can hold, for a number beside a tensor.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// The lowest and the highest finite number of a dtype that ops compute in; 0 and 1 for bool.
Number lowest(DType dtype);
Number highest(DType dtype);

/// Whether the number is in the dtype's range, so that conversion at most rounds it (reals in an
/// integer dtype: truncates it). Infinities and NaN must exist in the dtype.
bool holds(DType dtype, Number number);
/// The number if the dtype holds it or rounds it to an infinity, else the nearest that it holds.
Number into_range(DType dtype, Number number);
/// Errors: kInvalidArgument unless the dtype holds the number. bool takes every number: true for all
/// but 0.
void check_holds(const char* op, DType dtype, Number number);

}  // namespace wick
