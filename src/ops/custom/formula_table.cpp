#include "ops/custom/formula_table.h"

#include <map>

#include "ops/custom/formula_functions.h"

namespace wick {
namespace {

/// The name of F in g++ and clang++, which they also accept as source: "wick::Sigmoid".
template <class F>
constexpr std::string_view type_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__, before = "F = ";
  constexpr size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}
static_assert(type_name<Sigmoid>() == "wick::Sigmoid");

using Functions = std::map<std::string_view, FormulaFunction>;

template <class F>
void add(Functions& functions, DTypeRule rule, int numbers = 0) {
  const std::string_view operands = F::op.operands;  // "TT:B": two of the op's own dtype, a bool
  const int tensors = int(operands.find(':'));
  functions[F::op.name] = {type_name<F>(), tensors + numbers, numbers ? numbers - 1 : 0,
                           operands.back() == 'B', rule};
}

/// For formulas without a row: f32 for integers that the formula has no type for.
template <class F>
constexpr DTypeRule kDTypeRule = detail::position_in<int64>(typename F::Types{}) < F::Types::kSize
                                     ? DTypeRule::kNumbers
                                     : DTypeRule::kFloats;

Functions all_functions() {
  Functions result;
  for_each(Unary{}, [&]<class F>() { add<F>(result, unary_dtype_rule(F::op)); });
  for_each(UnaryWithNumbers{}, [&]<class F>() { add<F>(result, kDTypeRule<F>, 2); });
  for_each(Binary{}, [&]<class F>() { add<F>(result, binary_dtype_rule(F::op)); });
  for_each(Comparisons{}, [&]<class F>() { add<F>(result, DTypeRule::kNumbers); });
  for_each(Predicates{}, [&]<class F>() { add<F>(result, DTypeRule::kNumbers); });
  for_each(formula::Composed{}, [&]<class F>() { add<F>(result, kDTypeRule<F>); });
  return result;
}

}  // namespace

const FormulaFunction* find_formula_function(std::string_view name) {
  static const Functions functions = all_functions();
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

}  // namespace wick
