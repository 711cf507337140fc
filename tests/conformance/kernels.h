// The self-test of a backend's kernels, which `wick doctor --kernels` runs.
#pragma once
#include "runner.h"

namespace wick::conformance {

/// Runs the cases of the rows on the device; where several kernels accept a case, it is run by each
/// that has not run yet, and for kernels that no case reaches other dtypes are tried. Prints a line of
/// JSON for the beginning, each row, each case before it runs, each failure, the kernels that ran in
/// a row's cases with the numbers that passed and failed, the row's end, the kernels that nothing has
/// reached, and the end. Returns whether no case failed and some passed.
bool test_kernels(const std::vector<Row>& rows, const Device& device, const Options& options);

}  // namespace wick::conformance
