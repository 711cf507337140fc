// Formulas as text: checked against a small grammar, and written as C++.
#pragma once
#include <string>
#include <vector>

namespace wick {

struct Formula {
  std::string code;         // an expression of C++ over in_NAME, in what formula_kernel.h has
  bool is_bool;             // a comparison or the like
  bool needs_reals;         // integers cannot compute it
  std::string of_integers;  // a function in it that floats cannot compute; "": there is none
};

/// Errors: kInvalidArgument, "NAME: 'FORMULA': at POSITION: expected ..., got ...", the position
/// counted from 1.
Formula parse_formula(const std::string& name, const std::string& formula,
                      const std::vector<std::string>& inputs);

/// Whether it is a name in C: letters, digits and _, no digit first.
bool is_identifier(const std::string& text);

}  // namespace wick
