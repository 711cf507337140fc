// A device that hands all work on to another backend and writes down what was launched.
#pragma once
#include <string>
#include <vector>

#include "wick/core/device.h"

namespace wick::test {

/// A device like this one ("cpu", "emu:32"), with memory of its own.
Device recorder_of(const Device& device);

/// Forgets what was written down.
void clear_records();
/// A line per launch, copy and fill since, with all that a backend is given: op, kernel, each
/// operand's address, dtype, shape and strides, attributes, scratch.
const std::vector<std::string>& records();

}  // namespace wick::test
