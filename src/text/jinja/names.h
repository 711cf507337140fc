// Names in a syntax tree.
#pragma once
#include <string_view>

#include "text/jinja/syntax.h"

namespace wick::jinja {

/// Calls visit(child) for each expression right below this one.
template <class Node, class F>
requires std::is_same_v<std::remove_const_t<Node>, Expression>
void for_each_child(Node& expression, const F& visit) {
  for (auto& child : expression.children)
    if (child) visit(*child);
  for (auto& child : expression.arguments.positional) visit(*child);
  for (auto& [name, child] : expression.arguments.named) visit(*child);
  if (expression.arguments.more_positional) visit(*expression.arguments.more_positional);
  if (expression.arguments.more_named) visit(*expression.arguments.more_named);
}

/// Whether the statements read a name before, in the order of jinja2's tree, they assign it.
bool reads_undeclared(const Body& body, std::string_view name);

}  // namespace wick::jinja
