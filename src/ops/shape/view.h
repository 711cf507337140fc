// Views with a gradient: part of a tensor's elements through other strides.
#pragma once
#include <functional>

#include "wick/core/tensor.h"

namespace wick {

/// Maps the tensor's layout to the view's. No two elements of the view may coincide.
using Through = std::function<Layout(const Layout&)>;

/// The view of x through this map. Its gradient is zeros, with the view's gradient written where
/// the view reads.
Tensor part_of(const char* op, const Tensor& x, Through through);

/// Runs f off the tape, for ops that record a rule of their own.
Tensor off_tape(const std::function<Tensor()>& f);

}  // namespace wick
