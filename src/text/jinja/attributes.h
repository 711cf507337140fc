// Attributes and items of values, as jinja2's immutable sandbox reads them.
#pragma once
#include <span>

#include "text/jinja/arguments.h"

namespace wick::jinja {

/// value.name: the attribute, else the item, else undefined. Errors: the value is undefined.
Value get_attribute(Interpreter& interpreter, const Value& value, std::string_view name);
/// value[key]: the item, else the attribute, else undefined. Errors: the value is undefined.
Value get_item(Interpreter& interpreter, const Value& value, const Value& key);
/// The attribute that Python's getattr finds: a method, or an undefined value for one that changes
/// its object; nullopt if it finds nothing. Errors: the value is undefined; kUnsupported for a
/// method that wick does not have.
std::optional<Value> find_attribute(Interpreter& interpreter, const Value& value,
                                    std::string_view name);

/// A method of a built-in type.
struct MethodRow {
  Signature signature;
  Value (*run)(Interpreter& interpreter, const Value& self, const Items& arguments);
  Value (*run_unbound)(Interpreter& interpreter, const Value& self, Arguments&& arguments);
};

// The tables by subject.
std::span<const MethodRow> text_methods();
std::span<const MethodRow> split_methods();
std::span<const MethodRow> container_methods(const Value& value);

/// A function that templates can call.
class Function final : public Object {
 public:
  using Run = std::function<Value(Interpreter&, Arguments&&)>;
  Function(Meter* meter, std::string name, Run run, int depth = 1)
      : Object(meter, depth), name_(std::move(name)), run_(std::move(run)) {}
  std::string type_name() const override { return "function"; }
  void append_repr(Meter&, MarkedString& to) const override { to += "<function " + name_ + ">"; }
  bool is_callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments&& arguments) override {
    return run_(interpreter, std::move(arguments));
  }

 private:
  const std::string name_;
  const Run run_;
};

}  // namespace wick::jinja
