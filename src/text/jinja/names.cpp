#include "text/jinja/names.h"

#include <algorithm>

namespace wick::jinja {
namespace {

enum class Use { kNone, kRead, kAssigned };

/// Finds the first use of a name.
class FirstUse {
 public:
  explicit FirstUse(std::string_view name) : name_(name) {}

  Use in(const Body& body) {
    for (const Statement& statement : body)
      if (const Use use = std::visit(*this, statement.node); use != Use::kNone) return use;
    return Use::kNone;
  }

  Use operator()(const Output& node) {
    return first(node.parts, [&](const ExpressionPtr& part) { return in(part); });
  }
  Use operator()(const For& node) {
    return first_of(
        assigned(node.target), [&] { return in(node.iterable); }, [&] { return in(node.body); },
        [&] { return in(node.otherwise); }, [&] { return in(node.test); });
  }
  Use operator()(const If& node) {
    return first(node.branches, [&](const auto& branch) {
      return first_of(in(branch.first), [&] { return in(branch.second); });
    });
  }
  Use operator()(const Set& node) {
    return first_of(assigned(node.target), [&] { return in(node.value); });
  }
  Use operator()(const SetBlock& node) {
    return first_of(
        assigned(node.target), [&] { return in(node.filter); }, [&] { return in(node.body); });
  }
  Use operator()(const Macro& node) { return in(node.definition); }
  Use operator()(const CallBlock& node) {
    return first_of(in(node.call), [&] { return in(node.definition); });
  }
  Use operator()(const Generation& node) { return in(node.definition); }
  Use operator()(const FilterBlock& node) {
    return first_of(in(node.body), [&] { return in(node.filter); });
  }
  Use operator()(const With& node) {
    const auto targets = [&](const auto& assignment) { return assigned(assignment.first); };
    const auto values = [&](const auto& assignment) { return in(assignment.second); };
    return first_of(
        first(node.assignments, targets), [&] { return first(node.assignments, values); },
        [&] { return in(node.body); });
  }
  Use operator()(const Break&) { return Use::kNone; }
  Use operator()(const Continue&) { return Use::kNone; }

 private:
  template <class List, class F>
  static Use first(const List& list, const F& use_of) {
    for (const auto& item : list)
      if (const Use use = use_of(item); use != Use::kNone) return use;
    return Use::kNone;
  }
  /// The use, or else the first of the others.
  static Use first_of(Use use) { return use; }
  template <class F, class... Others>
  static Use first_of(Use use, const F& next, const Others&... others) {
    return use != Use::kNone ? use : first_of(next(), others...);
  }

  Use in(const MacroDefinition& definition) {
    const auto& names = definition.parameters;
    if (std::find(names.begin(), names.end(), name_) != names.end()) return Use::kAssigned;
    return first_of(first(definition.defaults, [&](const auto& value) { return in(value); }),
                    [&] { return in(definition.body); });
  }

  Use in(const ExpressionPtr& expression) { return expression ? in(*expression) : Use::kNone; }
  Use in(const Expression& expression) {
    if (expression.kind == ExpressionKind::kName && expression.name == name_) return Use::kRead;
    Use use = Use::kNone;
    for_each_child(expression, [&](const Expression& child) {
      if (use == Use::kNone) use = in(child);
    });
    return use;
  }

  Use assigned(const ExpressionPtr& target) {
    if (target->kind == ExpressionKind::kName && target->name == name_) return Use::kAssigned;
    return first(target->children, [&](const ExpressionPtr& child) { return assigned(child); });
  }

  const std::string_view name_;
};

}  // namespace

bool reads_undeclared(const Body& body, std::string_view name) {
  return FirstUse(name).in(body) == Use::kRead;
}

}  // namespace wick::jinja
