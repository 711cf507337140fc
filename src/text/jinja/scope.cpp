#include "text/jinja/scope.h"

#include <map>
#include <optional>
#include <set>

#include "text/jinja/filters.h"
#include "text/jinja/names.h"
#include "text/jinja/tests.h"

namespace wick::jinja {
namespace {

/// A function of the compiled template: its slots, by the level of their scope and name.
struct Function {
  int depth = 0;
  std::map<std::pair<int, std::string>, int> slots;

  int slot(int level, const std::string& name) {
    return slots.emplace(std::pair(level, name), int(slots.size())).first->second;
  }
};

/// The names of one scope. A branch of an if keeps only the names that it adds.
class Symbols {
 public:
  Symbols(const Symbols* parent, Function& function)
      : parent_(parent), function_(&function), level_(parent ? parent->level_ + 1 : 0) {}

  Symbols branch() const {
    Symbols result(parent_, *function_);
    result.base_ = this;
    return result;
  }

  std::optional<Variable> find(const std::string& name) const {
    if (const auto own = find_own(name)) return own;
    return parent_ ? parent_->find(name) : std::nullopt;
  }

  void store(const std::string& name) {
    stores_.insert(name);
    if (find_own(name)) return;
    const auto outer = find_outer(name);
    define(name, outer ? Load::Kind::kAlias : Load::Kind::kMissing, outer.value_or(Variable()));
  }

  Variable declare_parameter(const std::string& name) {
    stores_.insert(name);
    return define(name, Load::Kind::kParameter);
  }

  void load(const std::string& name) {
    if (!find(name)) define(name, Load::Kind::kResolve);
  }

  /// Adds the names of an if's branches, each of which may not have run.
  void merge(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& branch : branches)
      for (const std::string& name : branch.stores_)
        if (!has_stored(name)) stored.insert(name);
    for (const Symbols& branch : branches) {
      for (const auto& [name, variable] : branch.variables_) variables_[name] = variable;
      for (const auto& [slot, load] : branch.loads_) loads_[slot] = load;
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const std::string& name : stored) {
      const int slot = find_own(name)->slot;
      const auto outer = find_outer(name);
      loads_[slot] = {outer ? Load::Kind::kAlias : Load::Kind::kResolve, slot, name,
                      outer.value_or(Variable())};
    }
  }

  Scope scope() const {
    Scope result;
    for (const auto& [slot, load] : loads_) result.push_back(load);
    return result;
  }
  Function& function() const { return *function_; }

 private:
  std::optional<Variable> find_own(const std::string& name) const {
    for (const Symbols* s = this; s; s = s->base_)
      if (const auto found = s->variables_.find(name); found != s->variables_.end())
        return found->second;
    return std::nullopt;
  }
  std::optional<Variable> find_outer(const std::string& name) const {
    return parent_ ? parent_->find(name) : std::nullopt;
  }
  bool has_stored(const std::string& name) const {
    for (const Symbols* s = this; s; s = s->base_)
      if (s->stores_.count(name)) return true;
    return false;
  }
  Variable define(const std::string& name, Load::Kind kind, Variable source = {}) {
    const int slot = function_->slot(level_, name);
    loads_[slot] = {kind, slot, name, source};
    return variables_[name] = {function_->depth, slot};
  }

  const Symbols* parent_;
  const Symbols* base_ = nullptr;  // of a branch: the scope up to the if
  Function* function_;
  int level_;
  std::map<std::string, Variable> variables_;
  std::map<int, Load> loads_;  // by slot
  std::set<std::string> stores_;
};

/// Collects the names of a scope; the body of an inner scope counts only where it is entered.
class Collector {
 public:
  explicit Collector(Symbols& symbols) : symbols_(&symbols) {}

  void visit(const Body& body) {
    for (const Statement& statement : body) std::visit(*this, statement.node);
  }
  void visit(const ExpressionPtr& expression) {
    if (expression) read(*expression);
  }
  void assign(const ExpressionPtr& target, bool as_parameter = false) {
    if (target->kind == ExpressionKind::kName)
      as_parameter ? void(symbols_->declare_parameter(target->name))
                   : symbols_->store(target->name);
    else if (target->kind == ExpressionKind::kNamespaceAttribute)
      symbols_->load(target->name);
    for (const ExpressionPtr& child : target->children) assign(child, as_parameter);
  }

  void operator()(const Output& node) {
    for (const ExpressionPtr& part : node.parts) visit(part);
  }
  void operator()(const For& node) { visit(node.iterable); }
  void operator()(const If& node) {
    visit(node.branches[0].first);
    Symbols* const around = symbols_;
    std::vector<Symbols> branches{around->branch()};
    collect(branches[0], node.branches[0].second);
    // elif: all in one branch, each with a branch for its body.
    branches.push_back(around->branch());
    size_t i = 1;
    for (; i < node.branches.size() && node.branches[i].first; i++) {
      symbols_ = &branches[1];
      visit(node.branches[i].first);
      std::vector<Symbols> inner{branches[1].branch()};
      collect(inner[0], node.branches[i].second);
      branches[1].merge(inner);
    }
    if (i < node.branches.size()) {
      branches.push_back(around->branch());
      collect(branches[2], node.branches[i].second);
    }
    symbols_ = around;
    symbols_->merge(branches);
  }
  void operator()(const Set& node) {
    visit(node.value);
    assign(node.target);
  }
  void operator()(const SetBlock& node) { assign(node.target); }
  void operator()(const Macro& node) { symbols_->store(node.definition.name); }
  void operator()(const CallBlock& node) { visit(node.call); }
  void operator()(const Generation&) {}
  void operator()(const FilterBlock& node) { visit(node.filter); }
  void operator()(const With& node) {
    for (const auto& [target, value] : node.assignments) visit(value);
  }
  void operator()(const Break&) {}
  void operator()(const Continue&) {}

 private:
  void collect(Symbols& branch, const Body& body) {
    symbols_ = &branch;
    visit(body);
  }
  void read(const Expression& expression) {
    if (expression.kind == ExpressionKind::kName) symbols_->load(expression.name);
    for_each_child(expression, [&](const Expression& child) { read(child); });
  }

  Symbols* symbols_;
};

/// Writes slots into the tree.
class Resolver {
 public:
  explicit Resolver(const std::string& where) : where_(where) {}

  void resolve(Template& tree) {
    Function function;
    Symbols symbols(nullptr, function);
    Collector(symbols).visit(tree.body);
    visit(tree.body, symbols);
    tree.scope = symbols.scope();
    tree.slots = int(function.slots.size());
  }

 private:
  void visit(Body& body, const Symbols& symbols) {
    for (Statement& statement : body)
      std::visit([&](auto& node) { visit(node, symbols); }, statement.node);
  }

  void visit(Output& node, const Symbols& symbols) {
    for (ExpressionPtr& part : node.parts) read(part, symbols);
  }

  void visit(For& node, const Symbols& symbols) {
    read(node.iterable, symbols);
    const bool in_branch = std::exchange(in_branch_, false);
    fors_++;
    if (node.test) visit_test(node, symbols);
    Function recursive{symbols.function().depth + 1, {}};
    Function& function = node.is_recursive ? recursive : symbols.function();
    Symbols inner(&symbols, function);
    node.has_loop = node.is_recursive || reads_undeclared(node.body, "loop");
    if (node.has_loop) node.loop = inner.declare_parameter("loop");
    Collector collector(inner);
    collector.assign(node.target, true);
    collector.visit(node.body);
    assign(node.target, inner);
    visit(node.body, inner);
    node.body_scope = inner.scope();
    Symbols otherwise(&symbols, function);
    Collector(otherwise).visit(node.otherwise);
    visit(node.otherwise, otherwise);
    node.otherwise_scope = otherwise.scope();
    node.recursive_slots = int(recursive.slots.size());
    fors_--;
    in_branch_ = in_branch;
  }

  /// The test of a loop is a function over the items, with variables of its own.
  void visit_test(For& node, const Symbols& symbols) {
    Function function{symbols.function().depth + 1, {}};
    Symbols inner(&symbols, function);
    Collector collector(inner);
    collector.assign(node.target, true);
    collector.visit(node.test);
    node.test_target = copy_target(*node.target);
    assign(node.test_target, inner);
    read(node.test, inner);
    node.test_scope = inner.scope();
    node.test_slots = int(function.slots.size());
  }

  static ExpressionPtr copy_target(const Expression& target) {
    auto copy = std::make_unique<Expression>();
    copy->kind = target.kind;
    copy->place = target.place;
    copy->name = target.name;
    for (const ExpressionPtr& child : target.children)
      copy->children.push_back(copy_target(*child));
    return copy;
  }

  void visit(If& node, const Symbols& symbols) {
    const bool in_branch = std::exchange(in_branch_, true);
    for (auto& [condition, body] : node.branches) {
      read(condition, symbols);
      visit(body, symbols);
    }
    in_branch_ = in_branch;
  }

  void visit(Set& node, const Symbols& symbols) {
    assign(node.target, symbols);
    read(node.value, symbols);
  }

  void visit(SetBlock& node, const Symbols& symbols) {
    assign(node.target, symbols);
    node.scope = visit_inner(node.body, node.filter, symbols);
  }

  void visit(FilterBlock& node, const Symbols& symbols) {
    node.scope = visit_inner(node.body, node.filter, symbols);
  }

  /// A body in a scope of its own, and the filter of its text.
  Scope visit_inner(Body& body, ExpressionPtr& filter, const Symbols& symbols) {
    const bool in_branch = std::exchange(in_branch_, false);
    Symbols inner(&symbols, symbols.function());
    Collector collector(inner);
    collector.visit(body);
    collector.visit(filter);
    visit(body, inner);
    read(filter, inner);
    in_branch_ = in_branch;
    return inner.scope();
  }

  void visit(Macro& node, const Symbols& symbols) {
    node.variable = *symbols.find(node.definition.name);
    visit(node.definition, symbols);
  }

  void visit(CallBlock& node, const Symbols& symbols) {
    read(node.call, symbols);
    visit(node.definition, symbols);
  }

  void visit(Generation& node, const Symbols& symbols) { visit(node.definition, symbols); }

  void visit(MacroDefinition& node, const Symbols& symbols) {
    const bool in_branch = std::exchange(in_branch_, false);
    Function function{symbols.function().depth + 1, {}};
    Symbols inner(&symbols, function);
    Collector collector(inner);
    for (const std::string& name : node.parameters)
      node.parameter_slots.push_back(inner.declare_parameter(name).slot);
    for (const ExpressionPtr& value : node.defaults) collector.visit(value);
    collector.visit(node.body);
    const auto special = [&](const char* name) {
      const bool is_parameter =
          std::count(node.parameters.begin(), node.parameters.end(), name) > 0;
      const bool is_read = !is_parameter && reads_undeclared(node.body, name);
      return is_read ? inner.declare_parameter(name).slot : -1;
    };
    node.caller_slot = special("caller");
    node.kwargs_slot = special("kwargs");
    node.varargs_slot = special("varargs");
    for (ExpressionPtr& value : node.defaults) read(value, inner);
    visit(node.body, inner);
    node.scope = inner.scope();
    node.slots = int(function.slots.size());
    in_branch_ = in_branch;
  }

  void visit(With& node, const Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    Collector collector(inner);
    for (auto& [target, value] : node.assignments) collector.assign(target, true);
    collector.visit(node.body);
    for (auto& [target, value] : node.assignments) {
      assign(target, inner, true);
      read(value, symbols);
    }
    const bool in_branch = std::exchange(in_branch_, false);
    visit(node.body, inner);
    in_branch_ = in_branch;
    node.scope = inner.scope();
  }

  void visit(Break&, const Symbols&) {}
  void visit(Continue&, const Symbols&) {}

  void assign(ExpressionPtr& target, const Symbols& symbols, bool as_parameter = false) {
    if (target->kind != ExpressionKind::kTuple) target->variable = *symbols.find(target->name);
    check(as_parameter || fors_ == 0 || target->kind != ExpressionKind::kName ||
              target->name != "loop",
          ErrorCode::kFormat, where_, target->place, ": cannot assign to the variable of a loop");
    for (ExpressionPtr& child : target->children) assign(child, symbols, as_parameter);
  }

  void read(ExpressionPtr& expression, const Symbols& symbols) {
    if (expression) read(*expression, symbols);
  }

  void read(Expression& node, const Symbols& symbols) {
    const bool in_branch = in_branch_;
    if (node.kind == ExpressionKind::kConditional) in_branch_ = true;
    if (node.kind == ExpressionKind::kName) node.variable = *symbols.find(node.name);
    if (node.kind == ExpressionKind::kFilter) node.filter = find_filter(node.name);
    if (node.kind == ExpressionKind::kTest) node.test = find_test(node.name);
    const bool is_known = node.kind == ExpressionKind::kFilter ? node.filter != nullptr
                          : node.kind == ExpressionKind::kTest ? node.test != nullptr
                                                               : true;
    check(is_known || in_branch_, ErrorCode::kUnsupported, where_, node.place, ": unknown ",
          node.kind == ExpressionKind::kFilter ? "filter" : "test", " '", node.name, "'");
    for_each_child(node, [&](Expression& child) { read(child, symbols); });
    in_branch_ = in_branch;
  }

  const std::string& where_;
  bool in_branch_ = false;  // where jinja2 finds unknown filters and tests only when they run
  int fors_ = 0;
};

}  // namespace

void resolve(Template& tree, const std::string& where) { Resolver(where).resolve(tree); }

}  // namespace wick::jinja
