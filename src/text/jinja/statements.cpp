#include <algorithm>

#include "text/jinja/interpreter.h"
#include "text/jinja/objects.h"
#include "text/jinja/print.h"

namespace wick::jinja {
namespace {

/// Removes a named argument; missing if it was not given.
Value take_named(Meter& meter, Arguments& arguments, std::string_view name) {
  meter.step(int64_t(arguments.named.size()));
  const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [&](const auto& argument) { return argument.first == name; });
  if (named == arguments.named.end()) return {};
  const Value value = named->second;
  arguments.named.erase(named);
  return value;
}

}  // namespace

/// Runs code in another activation while this is alive.
class Interpreter::InFunction {
 public:
  InFunction(Interpreter& interpreter, Activation& activation)
      : interpreter_(interpreter), before_(std::exchange(interpreter.frame_, &activation)) {}
  ~InFunction() { interpreter_.frame_ = before_; }

 private:
  Interpreter& interpreter_;
  Activation* const before_;
};

/// Collects the output in `text` while this is alive.
class Interpreter::Capture {
 public:
  explicit Capture(Interpreter& interpreter)
      : interpreter_(interpreter), before_(std::exchange(interpreter.output_, &text)) {}
  ~Capture() { interpreter_.output_ = before_; }

  MarkedString text;

 private:
  Interpreter& interpreter_;
  MarkedString* const before_;
};

void Interpreter::enter(const Scope& scope) {
  for (const Load& load : scope) {
    Value& target = frame_->slots[size_t(load.slot)];
    switch (load.kind) {
      case Load::Kind::kParameter:
        break;
      case Load::Kind::kResolve:
        target = lookup(load.name);
        break;
      case Load::Kind::kAlias:
        target = slot(load.source);
        break;
      case Load::Kind::kMissing:
        target = {};
    }
  }
}

void Interpreter::leave(const Scope& scope) {
  for (const Load& load : scope) frame_->slots[size_t(load.slot)] = {};
}

void Interpreter::write(const Value& value) { append_str(meter, *output_, value); }

void Interpreter::write_text(const Value& value) {
  if (!value.text()) meter.fail("expected a string as output, got '", value.type_name(), "'");
  write(value);
}

Interpreter::Flow Interpreter::run(const Body& body) {
  const Deeper deeper(meter);
  for (const Statement& statement : body) {
    meter.step();
    meter.place = statement.place;
    const Flow flow = std::visit([&](const auto& node) { return run(node); }, statement.node);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const Output& node) {
  for (const ExpressionPtr& part : node.parts) {
    if (part->kind == ExpressionKind::kConstant)
      write(part->constant);
    else
      write(evaluate(*part));
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const For& node) {
  const Value items = evaluate(*node.iterable);
  if (node.is_recursive) {
    frame_->is_captured = true;  // by the variable "loop"
    write(call_loop(node, frame_, items, 0));
    return Flow::kNext;
  }
  return run_loop(node, items, 0);
}

Value Interpreter::call_loop(const For& node, Activation* closure, const Value& items,
                             int64_t depth) {
  auto activation = std::make_unique<Activation>(meter, closure, node.recursive_slots);
  const InFunction in_function(*this, *activation);
  Capture capture(*this);
  run_loop(node, items, depth);
  if (activation->is_captured) kept_.push_back(std::move(activation));
  return make_text(meter, std::move(capture.text));
}

Interpreter::Flow Interpreter::run_loop(const For& node, const Value& items, int64_t depth) {
  const Value source = node.test ? filtered_items(node, items) : items;
  meter.place = node.iterable->place;
  const auto iterator = iterate(meter, source);
  std::shared_ptr<LoopContext> loop;
  if (node.has_loop) {
    Activation* const closure = node.is_recursive ? frame_->parent : nullptr;
    loop = std::make_shared<LoopContext>(meter, node, closure, source, iterator, depth);
  }
  struct Finish {
    LoopContext* loop;
    ~Finish() {
      if (loop) loop->finish();
    }
  };
  const Finish finish{loop.get()};
  bool is_done = false;  // an iteration reached its end: "else" does not run
  for (Value item; loop ? loop->next(item) : iterator->next(item);) {
    meter.step();
    const Flow flow = run_iteration(node, item, loop ? Value(loop) : Value());
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNext) is_done = true;
  }
  leave(node.body_scope);
  if (is_done || node.otherwise.empty()) return Flow::kNext;
  enter(node.otherwise_scope);
  const Flow flow = run(node.otherwise);
  leave(node.otherwise_scope);
  return flow;
}

Interpreter::Flow Interpreter::run_iteration(const For& node, const Value& item,
                                             const Value& loop) {
  assign(*node.target, item);
  if (node.has_loop) slot(node.loop) = loop;
  enter(node.body_scope);
  return run(node.body);
}

Value Interpreter::filtered_items(const For& node, const Value& items) {
  frame_->is_captured = true;  // by the iterator
  const auto activation = std::make_shared<Activation>(meter, frame_, node.test_slots);
  const auto iterator = iterate(meter, items);
  bool is_first = true;
  return make_iterator(
      meter, "generator", items, [this, &node, activation, iterator, is_first](Value& out) mutable {
        const InFunction in_function(*this, *activation);
        if (std::exchange(is_first, false)) enter(node.test_scope);
        for (Value item; iterator->next(item);) {
          assign(*node.test_target, item);
          if (!evaluate(*node.test).is_true()) continue;
          // The target's values: a tuple for names in a tuple.
          out = node.test_target->kind == ExpressionKind::kName ? std::move(item)
                                                                : evaluate(*node.test_target);
          return true;
        }
        return false;
      });
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (target.kind == ExpressionKind::kName) {
    slot(target.variable) = value;
    return;
  }
  if (target.kind == ExpressionKind::kNamespaceAttribute)
    return namespace_of(target).set(meter, MarkedString::unmarked(target.target), value);
  meter.place = target.place;
  const auto iterator = iterate(meter, value);
  Value item;
  Items items;
  while (items.size() <= target.children.size() && iterator->next(item)) items.push_back(item);
  if (items.size() != target.children.size())
    meter.fail(items.size() < target.children.size() ? "not enough" : "too many",
               " values to unpack (expected ", target.children.size(), ")");
  for (size_t i = 0; i < items.size(); i++) assign(*target.children[i], items[i]);
}

Namespace& Interpreter::namespace_of(const Expression& target) {
  Namespace* const space = slot(target.variable).object_as<Namespace>();
  meter.place = target.place;
  if (!space) meter.fail("cannot assign attribute on non-namespace object");
  return *space;
}

void Interpreter::check_namespaces(const Expression& target) {
  if (target.kind == ExpressionKind::kNamespaceAttribute) namespace_of(target);
  for (const ExpressionPtr& child : target.children) check_namespaces(*child);
}

Interpreter::Flow Interpreter::run(const If& node) {
  for (const auto& [condition, body] : node.branches)
    if (!condition || evaluate(*condition).is_true()) return run(body);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const Set& node) {
  check_namespaces(*node.target);
  assign(*node.target, evaluate(*node.value));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const SetBlock& node) {
  Value text;
  {
    enter(node.scope);
    Capture capture(*this);
    const Flow flow = run(node.body);
    if (flow != Flow::kNext) return flow;
    text = make_text(meter, std::move(capture.text));
  }
  if (node.filter) {
    block_text_ = std::move(text);
    text = evaluate(*node.filter);
  }
  assign(*node.target, text);
  leave(node.scope);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const FilterBlock& node) {
  enter(node.scope);
  {
    Capture capture(*this);
    const Flow flow = run(node.body);
    if (flow != Flow::kNext) return flow;
    block_text_ = make_text(meter, std::move(capture.text));
  }
  write_text(evaluate(*node.filter));
  leave(node.scope);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const With& node) {
  enter(node.scope);
  for (const auto& [target, value] : node.assignments) assign(*target, evaluate(*value));
  const Flow flow = run(node.body);
  if (flow == Flow::kNext) leave(node.scope);
  return flow;
}

Value Interpreter::macro_value(const MacroDefinition& definition) {
  frame_->is_captured = true;
  return std::make_shared<MacroObject>(meter, definition, frame_);
}

Interpreter::Flow Interpreter::run(const Macro& node) {
  slot(node.variable) = macro_value(node.definition);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const CallBlock& node) {
  write_text(evaluate_call(*node.call, macro_value(node.definition)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const Generation& node) {
  write(call_macro(node.definition, frame_, {}));
  return Flow::kNext;
}

void Interpreter::bind_macro(const MacroDefinition& macro, Activation& activation,
                             Arguments&& arguments) {
  const size_t count = macro.parameters.size();
  Items& given = arguments.positional;
  for (size_t i = 0; i < count; i++)
    activation.slots[size_t(macro.parameter_slots[i])] =
        i < given.size() ? given[i] : take_named(meter, arguments, macro.parameters[i]);
  if (macro.caller_slot >= 0) {
    Value caller = take_named(meter, arguments, "caller");
    if (caller.is_missing() || caller.is_none()) caller = make_undefined("no caller defined");
    activation.slots[size_t(macro.caller_slot)] = std::move(caller);
  }
  if (macro.kwargs_slot >= 0) {
    Entries entries;
    for (auto& [name, value] : arguments.named)
      entries.emplace_back(make_text(meter, std::move(name)), std::move(value));
    activation.slots[size_t(macro.kwargs_slot)] = make_dict(meter, std::move(entries));
  } else if (!arguments.named.empty())
    meter.fail("macro '", macro.name, "' takes no keyword argument '",
               arguments.named[0].first.bytes(), "'");
  Items rest;
  for (size_t i = count; i < given.size(); i++) rest.push_back(std::move(given[i]));
  if (macro.varargs_slot >= 0)
    activation.slots[size_t(macro.varargs_slot)] = make_tuple(meter, std::move(rest));
  else if (!rest.empty())
    meter.fail("macro '", macro.name, "' takes not more than ", count, " argument(s)");
}

Value Interpreter::call_macro(const MacroDefinition& macro, Activation* closure,
                              Arguments&& arguments) {
  const Deeper deeper(meter);
  auto activation = std::make_unique<Activation>(meter, closure, macro.slots);
  const InFunction in_function(*this, *activation);
  bind_macro(macro, *activation, std::move(arguments));
  enter(macro.scope);
  const size_t first_default = macro.parameters.size() - macro.defaults.size();
  for (size_t i = 0; i < macro.parameters.size(); i++) {
    Value& parameter = activation->slots[size_t(macro.parameter_slots[i])];
    if (!parameter.is_missing()) continue;
    if (i < first_default)
      parameter = make_undefined("parameter '" + macro.parameters[i] + "' was not provided");
    else
      parameter = evaluate(*macro.defaults[i - first_default]);
  }
  Capture capture(*this);
  run(macro.body);
  if (activation->is_captured) kept_.push_back(std::move(activation));
  return make_text(meter, std::move(capture.text));
}

}  // namespace wick::jinja
