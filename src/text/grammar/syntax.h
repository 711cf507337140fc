// The syntax of a grammar: expressions over characters, and rules that call each other.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/code_points.h"

namespace wick::grammars {

/// No upper limit of a repetition.
inline constexpr uint32_t kUnbounded = UINT32_MAX;

/// Built from the leaves up; expressions may be used several times.
///
/// Errors, which begin with `where`: kUnsupported for a grammar beyond the limits below.
class Syntax {
 public:
  enum class Expr : uint32_t {};
  enum class Rule : uint32_t {};
  /// Expressions in all, bytes of texts, and expressions within one another.
  static constexpr size_t kMaxExpressions = size_t(1) << 20, kMaxBytes = size_t(1) << 24;
  static constexpr uint32_t kMaxDepth = 512;

  explicit Syntax(std::string where);
  const std::string& where() const { return where_; }
  /// The beginning of later errors.
  void set_where(std::string where) { where_ = std::move(where); }

  /// The empty text alone.
  Expr empty();
  /// No text at all.
  Expr nothing() { return choice({}); }
  Expr text(std::string bytes);
  /// One of the texts.
  Expr texts(std::vector<std::string> choices);
  /// One of the characters, in UTF-8.
  Expr characters(CodePoints set);
  Expr sequence(std::vector<Expr> parts);
  Expr choice(std::vector<Expr> choices);
  Expr optional(Expr part) { return repeat(part, 0, 1); }
  /// At least min and at most max times, or without end for kUnbounded; min <= max.
  Expr repeat(Expr part, uint32_t min, uint32_t max);
  /// The texts of all ways from state 0 to state 1 along arrows.
  struct Arrow {
    uint32_t from;
    Expr expr;
    uint32_t to;
  };
  Expr graph(const std::vector<Arrow>& arrows);

  /// A rule that define completes, so that it can call itself.
  Rule add_rule();
  void define(Rule rule, Expr body);
  bool is_defined(Rule rule) const { return rules_[size_t(rule)] != kUndefined; }
  Expr call(Rule rule);

  /// Throws kUnsupported: the grammar exceeds a limit.
  [[noreturn]] void fail_size(std::string_view limit) const;

  // For the compiler.
  enum class Kind : uint8_t {
    kEmpty,
    kText,
    kTexts,
    kCharacters,
    kSequence,
    kChoice,
    kRepeat,
    kGraph,
    kCall
  };
  struct Node {
    Kind kind;
    uint32_t depth;  // 1 more than its deepest part
    uint32_t first,
        last;  // parts_, or arrows_ of a graph; of texts_, sets_ and rules_ the index is first
    uint32_t min = 0, max = 0;  // of a repetition; of a graph, max is the number of its states
  };
  const Node& node(Expr expr) const { return nodes_[size_t(expr)]; }
  Expr part(uint32_t index) const { return parts_[index]; }
  const std::vector<std::string>& texts_of(const Node& node) const { return texts_[node.first]; }
  const CodePoints& set_of(const Node& node) const { return sets_[node.first]; }
  std::span<const Arrow> arrows_of(const Node& node) const {
    return {arrows_.data() + node.first, arrows_.data() + node.last};
  }
  Rule rule_of(const Node& node) const { return Rule{node.first}; }
  Expr body(Rule rule) const { return rules_[size_t(rule)]; }
  size_t rule_count() const { return rules_.size(); }
  size_t expression_count() const { return nodes_.size(); }

 private:
  static constexpr Expr kUndefined{UINT32_MAX};
  Expr add(Kind kind, uint32_t index);
  Expr add(Kind kind, const std::vector<Expr>& parts, uint32_t min = 0, uint32_t max = 0);
  void count_bytes(size_t bytes);

  std::string where_;
  std::vector<Node> nodes_;
  std::vector<Expr> parts_;
  std::vector<std::vector<std::string>> texts_;
  std::vector<CodePoints> sets_;
  std::vector<Arrow> arrows_;
  std::vector<Expr> rules_;
  size_t bytes_ = 0;
};

}  // namespace wick::grammars
