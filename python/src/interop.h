// Arrays of other libraries.
#pragma once
#include <nanobind/nanobind.h>

#include "wick/core/tensor.h"

namespace wick::python {

/// Copies an array, an object with a buffer or DLPack, to a tensor on the CPU. Raises TypeError for
/// another object, or a dtype that wick does not have.
Tensor copy_of_array(nanobind::handle array);

}  // namespace wick::python
