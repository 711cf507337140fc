// The names of AMD's runtime for streams, events and kernels that users bring. The classes are the
// same for every device.
#pragma once
#include "wick/core/stream.h"
#include "wick/core/user_kernel.h"

namespace wick::rocm {

using wick::Event;
using wick::Stream;
using Module = KernelModule;
using Function = KernelFunction;

}  // namespace wick::rocm
