// Filters: VALUE | NAME(arguments).
#pragma once
#include <span>

#include "text/jinja/arguments.h"

namespace wick::jinja {

struct Filter {
  Signature signature;
  /// arguments: one per parameter, missing if it was not given.
  Value (*run)(Interpreter& interpreter, const Value& input, const Items& arguments);
  /// In place of run, for a filter that takes any arguments.
  Value (*run_unbound)(Interpreter& interpreter, const Value& input, Arguments&& arguments);
};

/// nullptr if there is no filter of this name.
const Filter* find_filter(std::string_view name);
Value apply_filter(Interpreter& interpreter, const Filter& filter, const Value& input,
                   Arguments&& arguments);

// The tables by subject, which find_filter searches.
std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> list_filters();
std::span<const Filter> selection_filters();

/// Reads an attribute of items by a path such as "function.name" or 0, as filters take it.
class AttributeReader {
 public:
  /// path: a text, an int, or None or missing for the item itself. otherwise: in place of undefined
  /// values, unless it is missing or None.
  AttributeReader(Interpreter& interpreter, const Value& path, Value otherwise = {});
  Value operator()(const Value& item) const;

 private:
  Interpreter& interpreter_;
  Items keys_;
  Value otherwise_;
};

/// Texts in lower case unless case_sensitive is true; other values as they are.
Value without_case(Meter& meter, const Value& value, const Value& case_sensitive);

}  // namespace wick::jinja
