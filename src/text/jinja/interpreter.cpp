#include "text/jinja/interpreter.h"

#include "text/jinja/attributes.h"
#include "text/jinja/filters.h"
#include "text/jinja/objects.h"
#include "text/jinja/print.h"
#include "text/jinja/tests.h"
#include "text/jinja/text.h"

namespace wick::jinja {

Activation::Activation(Meter& meter, Activation* parent, int slots)
    : parent(parent),
      depth(parent ? parent->depth + 1 : 0),
      slots(size_t(slots)),
      charge(&meter, sizeof(Activation) + size_t(slots) * sizeof(Value)) {}

Interpreter::Interpreter(const Template& tree, Meter& meter, Value variables, Clock now)
    : meter(meter), now(std::move(now)), tree_(tree), variables_(std::move(variables)) {}

Interpreter::~Interpreter() {
  for (const auto& space : namespaces_) space->clear();
}

MarkedString Interpreter::render() {
  Activation activation(meter, nullptr, tree_.slots);
  MarkedString output;
  frame_ = &activation;
  output_ = &output;
  enter(tree_.scope);
  run(tree_.body);
  // Functions that are kept point to this activation; they end with it.
  for (const auto& space : namespaces_) space->clear();
  return output;
}

Value& Interpreter::slot(const Variable& variable) {
  Activation* frame = frame_;
  while (frame->depth > variable.function) frame = frame->parent;
  return frame->slots[size_t(variable.slot)];
}

Value Interpreter::lookup(const std::string& name) {
  const Value* found = variables_.dict()->find(meter, name);
  return found ? *found : find_global(name);
}

Value Interpreter::load(const Expression& name) {
  const Value& value = slot(name.variable);
  return value.is_missing() ? make_undefined("'" + name.name + "' is undefined") : value;
}

Items Interpreter::evaluate_all(const std::vector<ExpressionPtr>& expressions) {
  Items items;
  items.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) items.push_back(evaluate(*expression));
  return items;
}

Value Interpreter::evaluate(const Expression& node) {
  const Deeper deeper(meter);
  meter.step();
  meter.place = node.place;
  switch (node.kind) {
    case ExpressionKind::kConstant:
      return node.constant;
    case ExpressionKind::kName:
      return load(node);
    case ExpressionKind::kTuple:
      return make_tuple(meter, evaluate_all(node.children));
    case ExpressionKind::kList:
      return make_list(meter, evaluate_all(node.children));
    case ExpressionKind::kDict:
      return evaluate_dict(node);
    case ExpressionKind::kNot:
      return !evaluate(*node.children[0]).is_true();
    case ExpressionKind::kAnd: {
      Value left = evaluate(*node.children[0]);
      return left.is_true() ? evaluate(*node.children[1]) : left;
    }
    case ExpressionKind::kOr: {
      Value left = evaluate(*node.children[0]);
      return left.is_true() ? left : evaluate(*node.children[1]);
    }
    case ExpressionKind::kConditional:
      if (evaluate(*node.children[1]).is_true()) return evaluate(*node.children[0]);
      if (node.children[2]) return evaluate(*node.children[2]);
      return make_undefined("the inline if-expression has no else and its condition is false");
    case ExpressionKind::kFilter:
      return evaluate_filter(node);
    case ExpressionKind::kCompare:
      return evaluate_compare(node);
    case ExpressionKind::kCall:
      return evaluate_call(node, {});
    case ExpressionKind::kTest: {
      const Value input = evaluate(*node.children[0]);
      Arguments arguments = evaluate_arguments(node.arguments);
      meter.place = node.place;
      if (!node.test) meter.refuse("unknown test '", node.name, "'");
      return apply_test(*this, *node.test, input, std::move(arguments));
    }
    default:
      break;
  }
  // The operands, then the operation at its own place.
  Value operands[4];
  for (size_t i = 0; i < node.children.size() && node.kind != ExpressionKind::kConcat; i++)
    if (node.children[i]) operands[i] = evaluate(*node.children[i]);
  if (node.kind == ExpressionKind::kConcat) {
    MarkedString text;
    for (const Value& part : evaluate_all(node.children)) append_str(meter, text, part);
    return make_text(meter, std::move(text));
  }
  meter.place = node.place;
  switch (node.kind) {
    case ExpressionKind::kNegate:
      return negate(meter, operands[0]);
    case ExpressionKind::kPlus:
      return plus(meter, operands[0]);
    case ExpressionKind::kBinary:
      return binary(meter, node.op, operands[0], operands[1]);
    case ExpressionKind::kAttribute:
      return get_attribute(*this, operands[0], node.name);
    case ExpressionKind::kItem:
      return get_item(*this, operands[0], operands[1]);
    default:
      return slice(meter, operands[0], operands[1], operands[2], operands[3]);
  }
}

Value Interpreter::evaluate_dict(const Expression& node) {
  const Items items = evaluate_all(node.children);
  Entries entries;
  for (size_t i = 0; i < items.size(); i += 2) entries.emplace_back(items[i], items[i + 1]);
  meter.place = node.place;
  return make_dict(meter, std::move(entries));
}

Value Interpreter::evaluate_compare(const Expression& node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.relations.size(); i++) {
    const Value right = evaluate(*node.children[i + 1]);
    meter.place = node.place;
    const Relation relation = node.relations[i];
    bool holds;
    if (relation == Relation::kIn || relation == Relation::kNotIn)
      holds = contains(meter, right, left) == (relation == Relation::kIn);
    else
      holds = compare(meter, CompareOp(relation), left, right);
    if (!holds) return false;
    left = right;
  }
  return true;
}

Value Interpreter::evaluate_filter(const Expression& node) {
  const Value input =
      node.children[0] ? evaluate(*node.children[0]) : std::exchange(block_text_, Value());
  Arguments arguments = evaluate_arguments(node.arguments);
  meter.place = node.place;
  if (!node.filter) meter.refuse("unknown filter '", node.name, "'");
  return apply_filter(*this, *node.filter, input, std::move(arguments));
}

Arguments Interpreter::evaluate_arguments(const CallArguments& nodes) {
  Arguments arguments;
  arguments.positional = evaluate_all(nodes.positional);
  for (const auto& [name, value] : nodes.named)
    arguments.named.emplace_back(MarkedString::unmarked(name), evaluate(*value));
  if (nodes.more_positional)
    for (Value& item : collect(meter, evaluate(*nodes.more_positional)))
      arguments.positional.push_back(std::move(item));
  if (nodes.more_named) {
    const Value more = evaluate(*nodes.more_named);
    if (!more.dict()) meter.fail("the argument after ** must be a dict, not ", more.type_name());
    for (const auto& [key, value] : more.dict()->entries) {
      meter.step(1 + int64_t(nodes.named.size()));
      if (!key.text()) meter.fail("keywords must be strings");
      for (const auto& [name, expression] : nodes.named)
        if (name == key.text()->bytes)
          meter.fail("multiple values for keyword argument '", name, "'");
      arguments.named.emplace_back(MarkedString(*key.text()), value);
    }
  }
  return arguments;
}

Value Interpreter::evaluate_call(const Expression& node, const Value& caller) {
  const Value callee = evaluate(*node.children[0]);
  Arguments arguments = evaluate_arguments(node.arguments);
  if (!caller.is_missing()) arguments.named.emplace_back(MarkedString::unmarked("caller"), caller);
  meter.place = node.place;
  return call(callee, std::move(arguments));
}

Value Interpreter::call(const Value& callee, Arguments&& arguments) {
  if (callee.undefined()) fail_undefined(meter, callee);
  if (!callee.object() || !callee.object()->is_callable())
    meter.fail("'", callee.type_name(), "' object is not callable");
  return callee.object()->call(*this, std::move(arguments));
}

Value Object::call(Interpreter& interpreter, Arguments&&) {
  interpreter.meter.fail("'", type_name(), "' object is not callable");
}

Value Interpreter::make_namespace(std::vector<std::pair<MarkedString, Value>> attributes) {
  const auto space = std::make_shared<Namespace>(meter);
  for (auto& [name, value] : attributes) space->set(meter, std::move(name), std::move(value));
  namespaces_.push_back(space);
  return space;
}

}  // namespace wick::jinja
