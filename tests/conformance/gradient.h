// Gradients against central differences in double.
#pragma once
#include <set>
#include <utility>

#include "runner.h"

namespace wick::conformance {

/// A row as gradients take it: the differentiable operands in f64, the others, ids, in their dtype;
/// small geometries, no special values.
Row gradient_row(const Row& row);

/// The cases of a row of gradients; none if the op has no gradient.
std::vector<Case> gradient_cases(const Row& row, const Options& options);

/// Gradient rules: an op, as the tape names it, and the place among its inputs of the one whose
/// gradient it is.
using Rules = std::set<std::pair<std::string, std::size_t>>;

/// The gradient of sum(w y), w random, with respect to the buffers of the row's differentiable
/// operands, by the tape and by central differences; then, in the same way, the gradient of sum(u
/// g) of that gradient g.
///
/// The rules that took part are added to `met`.
Outcome check_gradient(const Row& row, const Case& c, const Device& device, const Options& options,
                       Rules* met = nullptr);

/// The rules that the row's function notes on the tape, whichever of its operands the row calls
/// differentiable: of small operands on the CPU, each of a float dtype being a Var's.
Rules noted_rules(const Row& row, uint64_t seed);

/// Passed if all that the rows note is among those met; else failed, with the names of the others.
Outcome check_rules(const std::vector<Row>& rows, const Rules& met, uint64_t seed);

}  // namespace wick::conformance
