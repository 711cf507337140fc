// How fast a device reads, copies and multiplies now.
#pragma once
#include <functional>

#include "wick/core/device.h"

namespace wick {

/// Called between measurements; a throw ends them.
using BetweenRuns = std::function<void()>;

/// Bytes/s of tensors that exceed caches, the best of several sizes: 512 MiB and more, as far as a
/// fifth of the memory and half of the free memory allow. Errors of all functions: as of the ops.
WICK_API double read_rate(const Device& device, const BetweenRuns& between = {});
/// The same, of bytes read and bytes written together.
WICK_API double copy_rate(const Device& device, const BetweenRuns& between = {});
/// Flop/s of products of square matrices of the dtype, the best of several sizes.
WICK_API double product_rate(const Device& device, DType dtype, const BetweenRuns& between = {});

}  // namespace wick
