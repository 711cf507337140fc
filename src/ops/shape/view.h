// Views with a gradient: part of a tensor's elements, seen through other strides.
#pragma once
#include <functional>

#include "wick/core/tensor.h"

namespace wick {

/// Where the elements of a view stand, given where those of the tensor do. Each of its elements is
/// another one of the tensor's.
using Through = std::function<Layout(const Layout&)>;

/// x seen so. Its gradient is zeros with the view's gradient written where the view looks.
Tensor part_of(const char* op, const Tensor& x, Through through);

/// What f gives, made off the tape: for ops that record a rule of their own.
Tensor off_tape(const std::function<Tensor()>& f);

}  // namespace wick
