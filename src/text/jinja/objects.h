// The objects that templates make: namespaces, macros, loops, cyclers and joiners.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "text/jinja/interpreter.h"

namespace wick::jinja {

/// namespace(): attributes that templates may assign. May hold itself; the interpreter clears it.
class Namespace final : public Object {
 public:
  explicit Namespace(Meter& meter) : Object(&meter) {}
  std::string type_name() const override { return "Namespace"; }
  void append_repr(Meter& meter, MarkedString& to) const override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  /// Errors: the name starts with "_".
  void set(const Meter& meter, MarkedString name, Value value);
  void clear();

 private:
  std::vector<std::pair<MarkedString, Value>> attributes_;
  std::unordered_map<std::string, size_t> places_;
};

class MacroObject final : public Object {
 public:
  MacroObject(Meter& meter, const MacroDefinition& definition, Activation* closure)
      : Object(&meter), definition_(definition), closure_(closure) {}
  std::string type_name() const override { return "Macro"; }
  void append_repr(Meter& meter, MarkedString& to) const override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  bool is_callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments&& arguments) override {
    return interpreter.call_macro(definition_, closure_, std::move(arguments));
  }

 private:
  const MacroDefinition& definition_;
  Activation* const closure_;
};

/// The variable "loop".
class LoopContext final : public Object {
 public:
  /// closure: where a recursive loop was defined.
  LoopContext(Meter& meter, const For& node, Activation* closure, const Value& items,
              std::shared_ptr<Iterator> iterator, int64_t depth);
  /// Moves to the next item; false at the end.
  bool next(Value& item);
  /// Forgets the arguments of changed(), which may hold the loop itself.
  void finish();

  std::string type_name() const override { return "LoopContext"; }
  void append_repr(Meter& meter, MarkedString& to) const override;
  std::optional<int64_t> length() override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  bool is_callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments&& arguments) override;
  /// Pairs of the items that are left and the loop itself, which moves on.
  std::shared_ptr<Iterator> iterate(Meter& meter) override;

 private:
  /// The item after the current one; missing at the end.
  const Value& peek();
  Value neighbour(const Value& item, const char* message) const;

  const For& node_;
  Activation* const closure_;
  const std::shared_ptr<Iterator> iterator_;
  std::optional<int64_t> length_;
  Items ahead_;  // items that were read early, the next one last
  bool is_exhausted_ = false, is_finished_ = false;
  Value before_, current_;
  Value changed_;  // the arguments of the last call of changed()
  int64_t index0_ = -1;
  const int64_t depth0_;
  Meter& meter_;
};

/// cycler(): its items in turn.
class Cycler final : public Object {
 public:
  Cycler(Meter& meter, Value items)
      : Object(&meter, depth_above(meter, items)), items_(std::move(items)) {}
  std::string type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;

 private:
  const Value items_;  // a tuple
  size_t at_ = 0;
};

/// joiner(): nothing at its first call, then the separator.
class Joiner final : public Object {
 public:
  Joiner(Meter& meter, Value separator)
      : Object(&meter, depth_above(meter, separator)), separator_(std::move(separator)) {}
  std::string type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments&& arguments) override;

 private:
  const Value separator_;
  bool is_used_ = false;
};

}  // namespace wick::jinja
