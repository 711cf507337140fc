// Runs a template.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "text/jinja/arguments.h"
#include "text/jinja/syntax.h"

namespace wick::jinja {

class Namespace;
class LoopContext;

/// The variables of one call of a function: the template, a macro, a recursive loop.
struct Activation {
  Activation(Meter& meter, Activation* parent, int slots);

  Activation* const parent;
  const int depth;
  std::vector<Value> slots;
  bool is_captured = false;  // a function made in it may outlive it
  Charge charge;
};

class Interpreter {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  /// variables: a dict.
  Interpreter(const Template& tree, Meter& meter, Value variables, Clock now);
  ~Interpreter();
  MarkedString render();

  Value evaluate(const Expression& expression);
  Value call(const Value& callee, Arguments&& arguments);
  /// The text of a macro's body, called with these arguments where it was defined.
  Value call_macro(const MacroDefinition& macro, Activation* closure, Arguments&& arguments);
  /// The text of a recursive loop over other items.
  Value call_loop(const For& loop, Activation* closure, const Value& items, int64_t depth);
  Value make_namespace(std::vector<std::pair<MarkedString, Value>> attributes);

  Meter& meter;
  const Clock now;

 private:
  enum class Flow { kNext, kBreak, kContinue };
  class InFunction;
  class Capture;

  // Statements (statements.cpp).
  Flow run(const Body& body);
  Flow run(const Output& node);
  Flow run(const For& node);
  Flow run(const If& node);
  Flow run(const Set& node);
  Flow run(const SetBlock& node);
  Flow run(const Macro& node);
  Flow run(const CallBlock& node);
  Flow run(const Generation& node);
  Flow run(const FilterBlock& node);
  Flow run(const With& node);
  Flow run(const Break&) { return Flow::kBreak; }
  Flow run(const Continue&) { return Flow::kContinue; }
  Flow run_loop(const For& node, const Value& items, int64_t depth);
  Flow run_iteration(const For& node, const Value& item, const Value& loop);
  Value filtered_items(const For& node, const Value& items);
  void assign(const Expression& target, const Value& value);
  void check_namespaces(const Expression& target);
  Namespace& namespace_of(const Expression& target);
  void enter(const Scope& scope);
  void leave(const Scope& scope);
  Value macro_value(const MacroDefinition& definition);
  void bind_macro(const MacroDefinition& macro, Activation& activation, Arguments&& arguments);
  void write(const Value& value);
  /// Writes the result of a filter or call block. Errors: it is no string.
  void write_text(const Value& value);

  // Expressions (interpreter.cpp).
  Value evaluate_filter(const Expression& expression);
  Value evaluate_call(const Expression& expression, const Value& caller);
  Value evaluate_dict(const Expression& expression);
  Value evaluate_compare(const Expression& expression);
  Value load(const Expression& name);
  Items evaluate_all(const std::vector<ExpressionPtr>& expressions);
  Arguments evaluate_arguments(const CallArguments& arguments);
  Value& slot(const Variable& variable);
  Value lookup(const std::string& name);

  const Template& tree_;
  const Value variables_;
  Activation* frame_ = nullptr;  // of the function that runs
  MarkedString* output_ = nullptr;
  Value block_text_;  // the input of a block's filter
  std::vector<std::unique_ptr<Activation>> kept_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

/// The global function or object of this name; missing if the name is unknown.
Value find_global(std::string_view name);

}  // namespace wick::jinja
