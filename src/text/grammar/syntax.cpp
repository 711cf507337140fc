#include "text/grammar/syntax.h"

#include <algorithm>
#include <utility>

#include "wick/base/error.h"

namespace wick::grammars {

Syntax::Syntax(std::string where) : where_(std::move(where)) {}

void Syntax::fail_size(std::string_view limit) const {
  fail(ErrorCode::kUnsupported, where_, "the grammar is too large: it has more than ", limit);
}

Syntax::Expr Syntax::add(Kind kind, uint32_t index) {
  if (nodes_.size() >= kMaxExpressions) fail_size(std::to_string(kMaxExpressions) + " expressions");
  nodes_.push_back({.kind = kind, .depth = 1, .first = index, .last = index});
  return Expr(nodes_.size() - 1);
}

Syntax::Expr Syntax::add(Kind kind, const std::vector<Expr>& parts, uint32_t min, uint32_t max) {
  if (parts_.size() + parts.size() > kMaxExpressions)
    fail_size(std::to_string(kMaxExpressions) + " expressions");
  const Expr expr = add(kind, uint32_t(parts_.size()));
  uint32_t depth = 0;
  for (const Expr part : parts) depth = std::max(depth, node(part).depth);
  if (depth >= kMaxDepth) fail_size(std::to_string(kMaxDepth) + " levels");
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  Node& added = nodes_.back();
  added.depth = depth + 1;
  added.last = uint32_t(parts_.size());
  added.min = min;
  added.max = max;
  return expr;
}

void Syntax::count_bytes(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > kMaxBytes) fail_size(std::to_string(kMaxBytes) + " bytes of text");
}

Syntax::Expr Syntax::empty() { return add(Kind::kEmpty, 0); }

Syntax::Expr Syntax::text(std::string bytes) {
  if (bytes.empty()) return empty();
  count_bytes(bytes.size());
  texts_.push_back({std::move(bytes)});
  return add(Kind::kText, uint32_t(texts_.size() - 1));
}

Syntax::Expr Syntax::texts(std::vector<std::string> choices) {
  for (const std::string& choice : choices) count_bytes(choice.size());
  texts_.push_back(std::move(choices));
  return add(Kind::kTexts, uint32_t(texts_.size() - 1));
}

Syntax::Expr Syntax::characters(CodePoints set) {
  count_bytes(set.ranges().size());
  sets_.push_back(std::move(set));
  return add(Kind::kCharacters, uint32_t(sets_.size() - 1));
}

Syntax::Expr Syntax::sequence(std::vector<Expr> parts) {
  if (parts.empty()) return empty();
  return parts.size() == 1 ? parts[0] : add(Kind::kSequence, parts);
}

Syntax::Expr Syntax::choice(std::vector<Expr> choices) {
  return choices.size() == 1 ? choices[0] : add(Kind::kChoice, choices);
}

Syntax::Expr Syntax::repeat(Expr part, uint32_t min, uint32_t max) {
  if (max == 0) return empty();
  return min == 1 && max == 1 ? part : add(Kind::kRepeat, {part}, min, max);
}

Syntax::Expr Syntax::graph(const std::vector<Arrow>& arrows) {
  if (arrows_.size() + arrows.size() > kMaxExpressions)
    fail_size(std::to_string(kMaxExpressions) + " expressions");
  const Expr expr = add(Kind::kGraph, uint32_t(arrows_.size()));
  Node added = node(expr);
  added.max = 2;
  for (const Arrow& arrow : arrows) {
    added.depth = std::max(added.depth, node(arrow.expr).depth + 1);
    added.max = std::max({added.max, arrow.from + 1, arrow.to + 1});
  }
  if (added.depth > kMaxDepth) fail_size(std::to_string(kMaxDepth) + " levels");
  arrows_.insert(arrows_.end(), arrows.begin(), arrows.end());
  added.last = uint32_t(arrows_.size());
  nodes_.back() = added;
  return expr;
}

Syntax::Rule Syntax::add_rule() {
  if (rules_.size() >= kMaxExpressions) fail_size(std::to_string(kMaxExpressions) + " rules");
  rules_.push_back(kUndefined);
  return Rule(rules_.size() - 1);
}

void Syntax::define(Rule rule, Expr body) { rules_[size_t(rule)] = body; }

Syntax::Expr Syntax::call(Rule rule) { return add(Kind::kCall, uint32_t(rule)); }

}  // namespace wick::grammars
