// Copies of activations between devices, through host memory that the device reads by itself.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// x on the target device, like x.to(target). Between the CPU and a device with pinned memory the
/// copy goes through one of the device's two staging buffers: a copy to the device is only queued,
/// and the caller goes on; a copy to the CPU waits for the work that makes x, and throws errors that
/// kernels have recorded. x.to(target) serves large tensors, tensors that are differentiated, and
/// devices without pinned memory.
Tensor transferred(const Tensor& x, const Device& target);

}  // namespace wick
