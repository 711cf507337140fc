// Checks formulas against a small grammar and translates them to C++.
#pragma once
#include <string>
#include <vector>

namespace wick {

struct Formula {
  std::string code;         // C++ expression over in_NAME, for use after formula_kernel.h
  bool is_bool;             // the result is a truth value, as of a comparison
  bool needs_reals;         // integers must compute in floats
  std::string of_integers;  // an integer-only function in it; "": none
};

/// Errors: kInvalidArgument, "NAME: 'FORMULA': at POSITION: expected ..., got ...", with positions
/// counted from 1.
Formula parse_formula(const std::string& name, const std::string& formula,
                      const std::vector<std::string>& inputs);

}  // namespace wick
