// Gradients against central differences in double.
#pragma once
#include "runner.h"

namespace wick::conformance {

/// A row as gradients take it: the differentiable operands in f64, the others, ids, in their dtype;
/// small geometries, no special values.
Row gradient_row(const Row& row);

/// The cases of a row of gradients; none if the op has no gradient.
std::vector<Case> gradient_cases(const Row& row, const Options& options);

/// The gradient of sum(w y), w random, with respect to the buffers of the row's differentiable
/// operands, by the tape and by central differences; then, in the same way, the gradient of sum(u
/// g) of that gradient g.
Outcome check_gradient(const Row& row, const Case& c, const Device& device, uint64_t seed);

}  // namespace wick::conformance
