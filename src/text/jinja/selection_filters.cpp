// Filters that apply a filter or test to each item: map, select and their like.
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/tests.h"

namespace wick::jinja {
namespace {

using Function = std::function<Value(const Value&)>;

/// The rest of the arguments, from the i-th positional one on.
Arguments rest_of(const Arguments& arguments, size_t i) {
  return {Items(arguments.positional.begin() + ptrdiff_t(i), arguments.positional.end()),
          arguments.named};
}

/// The name of a filter or test.
const std::string& name_of(Meter& meter, const Value& value, const char* kind) {
  if (value.undefined()) fail_undefined(meter, value);
  if (!value.text()) meter.fail("no ", kind, " of a name that is no string");
  return value.text()->bytes;
}

Function mapping(Interpreter& in, const Arguments& arguments) {
  Meter& meter = in.meter;
  if (!arguments.positional.empty()) {
    const std::string& name = name_of(meter, arguments.positional[0], "filter");
    const Filter* filter = find_filter(name);
    if (!filter) meter.refuse("unknown filter '", name, "'");
    return [&in, filter, rest = rest_of(arguments, 1)](const Value& item) {
      return apply_filter(in, *filter, item, Arguments(rest));
    };
  }
  Value attribute, otherwise;
  for (const auto& [name, value] : arguments.named) {
    if (name != "attribute" && name != "default")
      meter.fail("map: unexpected keyword argument '", name.bytes(), "'");
    (name == "attribute" ? attribute : otherwise) = value;
  }
  if (attribute.is_missing()) meter.fail("map requires a filter argument");
  return AttributeReader(in, attribute, otherwise);
}

/// Whether an item is selected, as a bool. has_attribute: the first argument names the attribute.
Function condition(Interpreter& in, const Arguments& arguments, bool has_attribute) {
  Meter& meter = in.meter;
  if (has_attribute && arguments.positional.empty())
    meter.fail("missing parameter for attribute name");
  const AttributeReader read(in, has_attribute ? arguments.positional[0] : Value());
  const size_t i = has_attribute ? 1 : 0;
  if (arguments.positional.size() == i)
    return [read](const Value& item) { return Value(read(item).is_true()); };
  const std::string& name = name_of(meter, arguments.positional[i], "test");
  const Test* test = find_test(name);
  if (!test) meter.refuse("unknown test '", name, "'");
  return [&in, read, test, rest = rest_of(arguments, i + 1)](const Value& item) {
    return Value(apply_test(in, *test, read(item), Arguments(rest)));
  };
}

/// A generator over the items of a value that is true; make(arguments) runs at its first item.
template <class Make, class Step>
Value generate(Interpreter& in, const Value& input, Arguments&& arguments, const Make& make,
               const Step& step) {
  struct State {
    Arguments arguments;
    std::shared_ptr<Iterator> iterator;
    Function function;
    bool is_started = false;
  };
  const auto state = std::make_shared<State>();
  state->arguments = std::move(arguments);
  return make_iterator(in.meter, "generator", input, [&in, input, state, make, step](Value& out) {
    if (!std::exchange(state->is_started, true) && input.is_true()) {
      state->function = make(in, state->arguments);
      state->iterator = iterate(in.meter, input);
    }
    if (!state->iterator) return false;
    while (state->iterator->next(out)) {
      in.meter.step();
      if (step(state->function, out)) return true;
    }
    return false;
  });
}

Value map(Interpreter& in, const Value& input, Arguments&& arguments) {
  return generate(in, input, std::move(arguments), mapping,
                  [](const Function& function, Value& item) {
                    item = function(item);
                    return true;
                  });
}

template <bool has_attribute, bool selects>
Value select(Interpreter& in, const Value& input, Arguments&& arguments) {
  const auto make = [](Interpreter& in, const Arguments& arguments) {
    return condition(in, arguments, has_attribute);
  };
  return generate(in, input, std::move(arguments), make, [](const Function& function, Value& item) {
    return function(item).is_true() == selects;
  });
}

constexpr Filter kFilters[] = {
    {{"map", "", 0}, nullptr, map},
    {{"reject", "", 0}, nullptr, select<false, false>},
    {{"rejectattr", "", 0}, nullptr, select<true, false>},
    {{"select", "", 0}, nullptr, select<false, true>},
    {{"selectattr", "", 0}, nullptr, select<true, true>},
};

}  // namespace

std::span<const Filter> selection_filters() { return kFilters; }

}  // namespace wick::jinja
