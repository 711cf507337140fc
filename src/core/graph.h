// Whether the calling thread records a graph.
#pragma once
#include "wick/core/graph.h"

namespace wick {

/// Whether this thread is in Graph::capture of the device.
bool is_capturing(const Device& device);

}  // namespace wick
