#include "text/jinja/attributes.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/compare.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/range.h"
#include "text/jinja/text.h"

namespace wick::jinja {
namespace {

// Methods that change their object, which the sandbox does not allow.
constexpr std::string_view kListChanges[] = {"append", "clear", "pop",    "reverse",
                                             "insert", "sort",  "extend", "remove"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
// Methods that Python has and wick does not.
constexpr std::string_view kNoTextMethods[] = {"encode", "maketrans", "translate"};
constexpr std::string_view kNoNumberMethods[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate",
    "from_bytes",       "fromhex",   "hex",        "to_bytes"};

template <class List>
bool lists(const List& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_private(std::string_view name) { return name.starts_with("__") && name.ends_with("__"); }

Value unsafe(const Value& value, std::string_view name) {
  return make_undefined("access to attribute '" + std::string(name) + "' of '" + value.type_name() +
                        "' object is unsafe");
}

Value bound_method(Interpreter& interpreter, const Value& self, const MethodRow& row) {
  return std::make_shared<Function>(
      &interpreter.meter, std::string(row.signature.name),
      [self, &row](Interpreter& in, Arguments&& arguments) {
        if (row.run_unbound) return row.run_unbound(in, self, std::move(arguments));
        return row.run(in, self, bind(in.meter, row.signature, std::move(arguments)));
      },
      depth_above(interpreter.meter, self));
}

const MethodRow* find_row(std::span<const MethodRow> rows, std::string_view name) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const MethodRow& r) { return r.signature.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

std::optional<Value> number_attribute(Interpreter& in, const Value& value, std::string_view name) {
  if (lists(kNoNumberMethods, name)) in.meter.refuse("attribute '", name, "' of a number");
  if (name == "real") return plus(in.meter, value);
  if (name == "imag") return value.real() ? Value(0.0) : Value(0);
  if (const double* x = value.real()) {
    if (name != "is_integer") return std::nullopt;
    return std::make_shared<Function>(&in.meter, "is_integer", [x = *x](Interpreter&, Arguments&&) {
      return Value(std::isfinite(x) && x == std::floor(x));
    });
  }
  if (name == "numerator") return plus(in.meter, value);
  if (name == "denominator") return 1;
  return std::nullopt;
}

Value no_attribute(const Value& value, std::string_view name) {
  const std::string type = value.is_none() ? "None" : value.type_name() + " object";
  return make_undefined("'" + type + "' has no attribute '" + std::string(name) + "'");
}

std::optional<Value> find_item(Interpreter& in, const Value& value, const Value& key) {
  if (const Dict* dict = value.dict()) {
    if (!is_hashable(in.meter, key)) return std::nullopt;
    const Value* found = dict->find(in.meter, key);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (value.object()) return value.object()->item(in.meter, key);
  if (!value.sequence() && !value.text()) return std::nullopt;
  const auto index = key.index();
  return index ? item_at(in.meter, value, *index) : std::nullopt;
}

// Methods of dicts, lists and tuples.

Value dict_get(Interpreter& in, const Value& self, const Items& arguments) {
  check_hashable(in.meter, arguments[0]);
  const Value* found = self.dict()->find(in.meter, arguments[0]);
  return found ? *found : given_or(arguments[1], Value::None());
}

template <DictView::Part part>
Value dict_view(Interpreter& in, const Value& self, const Items&) {
  return std::make_shared<DictView>(in.meter, self, part);
}

Value copy(Interpreter& in, const Value& self, const Items&) {
  return self.dict() ? make_dict(in.meter, self.dict()->entries)
                     : make_list(in.meter, self.sequence()->items);
}

Value count_item(Interpreter& in, const Value& self, const Items& arguments) {
  int64_t count = 0;
  for (const Value& item : self.sequence()->items)
    count += same(item, arguments[0]) || equal(in.meter, item, arguments[0]);
  return count;
}

Value index_of_item(Interpreter& in, const Value& self, const Items& arguments) {
  const Items& items = self.sequence()->items;
  const SliceRange range =
      slice_range(in.meter, int64_t(items.size()), arguments[1], arguments[2], {});
  for (int64_t i = range.first; i < range.end; i++) {
    const Value& item = items[size_t(i)];
    if (same(item, arguments[0]) || equal(in.meter, item, arguments[0])) return i;
  }
  in.meter.fail("the value is not in the ", self.type_name());
}

constexpr MethodRow kDictMethods[] = {
    {{"get", "key default /", 1}, dict_get, nullptr},
    {{"items", "", 0}, dict_view<DictView::Part::kItems>, nullptr},
    {{"keys", "", 0}, dict_view<DictView::Part::kKeys>, nullptr},
    {{"values", "", 0}, dict_view<DictView::Part::kValues>, nullptr},
    {{"copy", "", 0}, copy, nullptr},
};
// A tuple has no copy.
constexpr MethodRow kSequenceMethods[] = {
    {{"count", "value /", 1}, count_item, nullptr},
    {{"index", "value start stop /", 1}, index_of_item, nullptr},
    {{"copy", "", 0}, copy, nullptr},
};

}  // namespace

std::span<const MethodRow> container_methods(const Value& value) {
  if (value.dict()) return kDictMethods;
  return std::span(kSequenceMethods).first(value.is_list() ? 3 : 2);
}

std::optional<Value> find_attribute(Interpreter& in, const Value& value, std::string_view name) {
  Meter& meter = in.meter;
  if (value.undefined()) fail_undefined(meter, value);
  if (value.object() && !is_private(name)) {
    const auto found = value.object()->attribute(in, name);
    return found && name.starts_with("_") ? unsafe(value, name) : found;
  }
  if (is_private(name)) return unsafe(value, name);
  if (value.is_number()) return number_attribute(in, value, name);
  if (value.text()) {
    if (lists(kNoTextMethods, name)) meter.refuse("method '", name, "' of a string");
    for (const auto& methods : {text_methods(), split_methods()})
      if (const MethodRow* row = find_row(methods, name)) return bound_method(in, value, *row);
    return std::nullopt;
  }
  if (!value.sequence() && !value.dict()) return std::nullopt;
  if (const MethodRow* row = find_row(container_methods(value), name))
    return bound_method(in, value, *row);
  if (value.dict() ? lists(kDictChanges, name) : value.is_list() && lists(kListChanges, name))
    return unsafe(value, name);
  if (value.dict() && name == "fromkeys") return get_attribute(in, find_global("dict"), name);
  if (value.sequence() && value.sequence()->kind == Sequence::Kind::kGroup) {
    if (name == "grouper") return value.sequence()->items[0];
    if (name == "list") return value.sequence()->items[1];
  }
  return std::nullopt;
}

Value get_attribute(Interpreter& in, const Value& value, std::string_view name) {
  if (auto found = find_attribute(in, value, name)) return std::move(*found);
  if (value.dict())
    if (const Value* item = value.dict()->find(in.meter, name)) return *item;
  return no_attribute(value, name);
}

Value get_item(Interpreter& in, const Value& value, const Value& key) {
  if (value.undefined()) fail_undefined(in.meter, value);
  if (auto found = find_item(in, value, key)) return std::move(*found);
  if (key.text()) {
    if (auto found = find_attribute(in, value, key.text()->bytes)) return std::move(*found);
    return no_attribute(value, key.text()->bytes);
  }
  MarkedString text;
  append_repr(in.meter, text, key);
  return make_undefined(value.type_name() + " object has no element " + text.bytes());
}

}  // namespace wick::jinja
