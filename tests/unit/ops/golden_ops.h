// Ops by name, with their options as tests/golden/gradients/cases.json has them.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/wick.h"

namespace wick::test {

using GoldenOp = std::function<Tensor(const std::vector<Tensor>& x, const Settings& options)>;

/// Every op that cases.json may name.
const std::map<std::string, GoldenOp>& golden_ops();

}  // namespace wick::test
