// The functions available in formulas, by name.
#pragma once
#include <string>
#include <string_view>

#include "ops/elementwise/elementwise.h"

namespace wick {

struct FormulaFunction {
  std::string_view type;  // its type in formula_functions.h: "wick::Sigmoid"
  int arguments;
  int optional;  // the last of them, which are 0 where they are not given
  bool is_bool;  // the result
  DTypeRule rule;
};

/// Finds a function by name; nullptr if there is none.
const FormulaFunction* find_formula_function(std::string_view name);

}  // namespace wick
