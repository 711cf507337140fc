// How long rows take, and which kernels serve them.
#pragma once
#include "runner.h"

namespace wick::conformance {

/// Prints the time of a call, and what it reads and writes in that time, for each dtype of the row.
void bench(const Row& row, const Device& device, const Options& options);

/// Prints for each dtype K and the kernel's name (L if a library's), C if the op runs without one
/// of its own, - if it does not run.
void print_support(const std::vector<Row>& rows, const std::vector<Device>& devices,
                   const Options& options);

}  // namespace wick::conformance
