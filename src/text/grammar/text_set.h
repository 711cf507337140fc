// Regular sets of texts: automata over characters that can be combined.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/syntax.h"

namespace wick::grammars {

/// The steps that a reader of schemas may still do.
class Budget {
 public:
  explicit Budget(const Syntax& syntax) : syntax_(syntax) {}
  /// Errors: kUnsupported if all are spent.
  void spend(size_t steps = 1) {
    spent_ += steps;
    if (spent_ > kMaxSteps) syntax_.fail_size(std::to_string(kMaxSteps) + " steps of its reader");
  }

 private:
  static constexpr size_t kMaxSteps = size_t(1) << 23;
  const Syntax& syntax_;
  size_t spent_ = 0;
};

/// A set of texts of Unicode's characters, as a deterministic automaton.
class TextSet {
 public:
  struct Edge {
    char32_t first, last;
    uint32_t to;
  };
  struct State {
    std::vector<Edge> edges;  // sorted; no edge: a dead end
    bool accepts = false;
  };

  /// The texts of an expression without calls and graphs.
  static TextSet of(const Syntax& syntax, Syntax::Expr expr, Budget& budget);
  static TextSet of_texts(const std::vector<std::string>& texts, Budget& budget);
  /// The texts of min to max characters, or without an end for kUnbounded.
  static TextSet of_lengths(uint32_t min, uint32_t max, Budget& budget);

  TextSet complement(Budget& budget) const;
  TextSet both(const TextSet& other, Budget& budget) const;
  TextSet either(const TextSet& other, Budget& budget) const;

  bool empty() const;
  /// text: UTF-8.
  bool contains(std::string_view text) const;
  /// The first is the start; all can be reached from it.
  const std::vector<State>& states() const { return states_; }

 private:
  std::vector<State> states_;
};

}  // namespace wick::grammars
