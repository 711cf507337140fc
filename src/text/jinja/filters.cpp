#include "text/jinja/filters.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/attributes.h"
#include "text/jinja/convert.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {

const Filter* find_filter(std::string_view name) {
  for (const auto& table :
       {text_filters(), number_filters(), list_filters(), selection_filters()}) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Filter& filter) {
      return filter.signature.name == name;
    });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

Value apply_filter(Interpreter& interpreter, const Filter& filter, const Value& input,
                   Arguments&& arguments) {
  if (filter.run_unbound) return filter.run_unbound(interpreter, input, std::move(arguments));
  return filter.run(interpreter, input,
                    bind(interpreter.meter, filter.signature, std::move(arguments)));
}

AttributeReader::AttributeReader(Interpreter& interpreter, const Value& path, Value otherwise)
    : interpreter_(interpreter), otherwise_(std::move(otherwise)) {
  Meter& meter = interpreter.meter;
  if (path.is_missing() || path.is_none()) return;
  if (!path.text()) {
    keys_.push_back(path);
    return;
  }
  std::string_view rest = path.text()->bytes;
  for (bool more = true; more;) {
    const size_t dot = rest.find('.');
    more = dot != rest.npos;
    const std::string_view part = rest.substr(0, dot);
    if (more) rest.remove_prefix(dot + 1);
    bool is_number = !part.empty();
    for (size_t at = 0; at < part.size();) is_number &= is_digit(next_code_point(part, at));
    const auto index = is_number ? parse_integer(meter, part, 10) : std::nullopt;
    keys_.push_back(index ? Value(*index) : make_unmarked(meter, std::string(part)));
  }
}

Value AttributeReader::operator()(const Value& item) const {
  Value value = item;
  for (const Value& key : keys_) {
    value = get_item(interpreter_, value, key);
    if (value.undefined() && !otherwise_.is_missing() && !otherwise_.is_none()) value = otherwise_;
  }
  return value;
}

Value without_case(Meter& meter, const Value& value, const Value& case_sensitive) {
  const bool keeps_case = !case_sensitive.is_missing() && case_sensitive.is_true();
  if (keeps_case || !value.text()) return value;
  return make_unmarked(meter, to_lower(value.text()->bytes));
}

}  // namespace wick::jinja
