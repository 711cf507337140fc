// Sums of products, naively.
#pragma once
#include <string>

#include "ops.h"

namespace wick::reference {

/// "ij,jk->ik": letters alone, and an output. A dim of size 1 broadcasts. Integers wrap.
Result einsum(const std::string& equation, const std::vector<Array>& operands);
Result kron(const Array& a, const Array& b);
Result cross(const Array& a, const Array& b, int64_t dim);

}  // namespace wick::reference
