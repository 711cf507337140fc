#include "text/jinja/arguments.h"

#include "text/jinja/number.h"

namespace wick::jinja {

Items bind(const Meter& meter, const Signature& signature, Arguments&& arguments) {
  Items bound;
  std::string_view rest = signature.parameters;
  bool may_be_named = rest.find('/') == rest.npos;
  size_t used = 0;  // of the named arguments
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "/") {
      may_be_named = true;
      continue;
    }
    const size_t i = bound.size();
    bound.push_back(i < arguments.positional.size() ? std::move(arguments.positional[i]) : Value());
    if (!may_be_named) continue;
    for (auto& [key, value] : arguments.named) {
      if (key != name) continue;
      if (!bound[i].is_missing())
        meter.fail(signature.name, "() got multiple values for argument '", name, "'");
      bound[i] = std::move(value);
      used++;
    }
  }
  if (arguments.positional.size() > bound.size())
    meter.fail(signature.name, "() takes at most ", bound.size(), " arguments, got ",
               arguments.positional.size());
  if (used < arguments.named.size())
    meter.fail(signature.name, "() got an unexpected keyword argument");
  for (int i = 0; i < signature.required; i++)
    if (bound[size_t(i)].is_missing())
      meter.fail(signature.name, "() takes at least ", signature.required, " arguments");
  return bound;
}

int64_t index_or(const Meter& meter, const Value& argument, const char* name, int64_t otherwise) {
  return argument.is_missing() ? otherwise : expect_index(meter, argument, name);
}

const Text& expect_text(const Meter& meter, const Value& argument, const char* name) {
  if (!argument.text()) meter.fail(name, ": expected a string, got '", argument.type_name(), "'");
  return *argument.text();
}

}  // namespace wick::jinja
