// A small sample of a product in which every pair of levels of every two factors meets.
#pragma once
#include <vector>

#include "values.h"

namespace wick::conformance {

/// Points of the product of factors with these numbers of levels: point[f] in [0, levels[f]). Every
/// (f, i), (g, j) with f != g occurs in one of them, and every (f, i) if there is one factor alone.
std::vector<std::vector<int>> pairwise(const std::vector<int>& levels, Random& random);
/// All points of the product.
std::vector<std::vector<int>> product(const std::vector<int>& levels);

}  // namespace wick::conformance
