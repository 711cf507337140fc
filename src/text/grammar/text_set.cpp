#include "text/grammar/text_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "base/utf8.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;
using Kind = Syntax::Kind;

constexpr size_t kStateSteps = 16;  // so that states take no more memory than their steps time

/// A nondeterministic automaton of an expression; Thompson 1968.
class Paths {
 public:
  struct Edge {
    CodePoints::Range range;
    uint32_t to;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<uint32_t> epsilons;
  };

  Paths(const Syntax& syntax, Expr expr, Budget& budget) : syntax_(syntax), budget_(budget) {
    const uint32_t start = add(), end = add();
    build(expr, start, end);
  }
  static constexpr uint32_t kStart = 0, kEnd = 1;
  const State& at(uint32_t state) const { return states_[state]; }

  /// Adds the states that epsilons reach, and sorts.
  void close(std::vector<uint32_t>& states) {
    round_++;
    seen_.resize(states_.size());
    std::vector<uint32_t> reached;
    const auto reach = [&](uint32_t state) {
      if (std::exchange(seen_[state], round_) != round_) reached.push_back(state);
    };
    for (const uint32_t state : states) reach(state);
    for (size_t i = 0; i < reached.size(); i++)
      for (const uint32_t next : states_[reached[i]].epsilons) reach(next);
    budget_.spend(reached.size());
    std::sort(reached.begin(), reached.end());
    states = std::move(reached);
  }

 private:
  uint32_t add() {
    budget_.spend(kStateSteps);
    states_.emplace_back();
    return uint32_t(states_.size() - 1);
  }
  void add_epsilon(uint32_t from, uint32_t to) { states_[from].epsilons.push_back(to); }

  void build_text(std::string_view text, uint32_t from, uint32_t to) {
    for (size_t at = 0; at < text.size();) {
      const char32_t code = next_code_point(text, at);
      const uint32_t next = add();
      states_[from].edges.push_back({{code, code}, next});
      from = next;
    }
    add_epsilon(from, to);
  }

  void build(Expr expr, uint32_t from, uint32_t to) {
    budget_.spend();
    const Syntax::Node& node = syntax_.node(expr);
    switch (node.kind) {
      case Kind::kEmpty:
        return add_epsilon(from, to);
      case Kind::kText:
      case Kind::kTexts:
        for (const std::string& text : syntax_.texts_of(node)) build_text(text, from, to);
        return;
      case Kind::kCharacters:
        for (const CodePoints::Range& range : syntax_.set_of(node).ranges()) {
          budget_.spend();
          states_[from].edges.push_back({range, to});
        }
        return;
      case Kind::kSequence:
        for (uint32_t i = node.first; i < node.last; i++) {
          const uint32_t next = i + 1 == node.last ? to : add();
          build(syntax_.part(i), from, next);
          from = next;
        }
        return;
      case Kind::kChoice:
        for (uint32_t i = node.first; i < node.last; i++) {
          const uint32_t start = add();
          add_epsilon(from, start);
          build(syntax_.part(i), start, to);
        }
        return;
      case Kind::kRepeat:
        return build_repeat(node, from, to);
      case Kind::kGraph:
      case Kind::kCall:
        WICK_ASSERT(false);
    }
  }

  void build_repeat(const Syntax::Node& node, uint32_t from, uint32_t to) {
    const Expr part = syntax_.part(node.first);
    const auto step = [&] {
      const uint32_t next = add();
      build(part, from, next);
      from = next;
    };
    for (uint32_t i = 0; i < node.min; i++) step();
    if (node.max == kUnbounded) {
      const uint32_t loop = add();
      add_epsilon(from, loop);
      build(part, loop, loop);
      return add_epsilon(loop, to);
    }
    for (uint32_t i = node.min; i < node.max; i++) {
      add_epsilon(from, to);
      step();
    }
    add_epsilon(from, to);
  }

  const Syntax& syntax_;
  Budget& budget_;
  std::vector<State> states_;
  std::vector<uint64_t> seen_;
  uint64_t round_ = 0;
};

/// Numbers keys in the order of their first use.
template <class Key>
class Numbers {
 public:
  uint32_t of(const Key& key) {
    const auto [at, is_new] = ids_.try_emplace(key, uint32_t(keys_.size()));
    if (is_new) keys_.push_back(key);
    return at->second;
  }
  size_t size() const { return keys_.size(); }
  /// A copy: `of` may move the keys.
  Key key(size_t id) const { return keys_[id]; }

 private:
  std::map<Key, uint32_t> ids_;
  std::vector<Key> keys_;
};

/// Adds an edge after those before it, and joins it to the last one where it can.
void append(std::vector<TextSet::Edge>& edges, const TextSet::Edge& edge) {
  if (!edges.empty() && edges.back().to == edge.to && edges.back().last + 1 == edge.first)
    edges.back().last = edge.last;
  else
    edges.push_back(edge);
}

/// Adds edges for the characters from first to last.
void append_range(std::vector<TextSet::Edge>& edges, char32_t first, char32_t last, uint32_t to) {
  if (first > last) return;
  const CodePoints set = {{first, last}};  // without surrogates
  for (const CodePoints::Range& range : set.ranges()) append(edges, {range.first, range.last, to});
}

constexpr char32_t kLastCode = 0x10ffff;

}  // namespace

TextSet TextSet::of(const Syntax& syntax, Expr expr, Budget& budget) {
  Paths paths(syntax, expr, budget);
  TextSet result;
  Numbers<std::vector<uint32_t>> sets;
  std::vector<uint32_t> start = {Paths::kStart};
  paths.close(start);
  sets.of(start);
  for (size_t i = 0; i < sets.size(); i++) {
    State& state = result.states_.emplace_back();
    const std::vector<uint32_t> set = sets.key(i);
    state.accepts = std::binary_search(set.begin(), set.end(), Paths::kEnd);
    std::vector<char32_t> begins;  // of parts in which all characters have the same edges
    for (const uint32_t at : set)
      for (const Paths::Edge& edge : paths.at(at).edges) {
        begins.push_back(edge.range.first);
        begins.push_back(edge.range.last + 1);
      }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    for (size_t part = 0; part + 1 < begins.size(); part++) {
      const char32_t first = begins[part], last = begins[part + 1] - 1;
      std::vector<uint32_t> targets;
      for (const uint32_t at : set) {
        budget.spend(paths.at(at).edges.size() + 1);
        for (const Paths::Edge& edge : paths.at(at).edges)
          if (edge.range.first <= first && last <= edge.range.last) targets.push_back(edge.to);
      }
      if (targets.empty()) continue;
      paths.close(targets);
      append(state.edges, {first, last, sets.of(targets)});
    }
  }
  return result;
}

TextSet TextSet::of_texts(const std::vector<std::string>& texts, Budget& budget) {
  Syntax syntax("");
  return of(syntax, syntax.texts(texts), budget);
}

TextSet TextSet::of_lengths(uint32_t min, uint32_t max, Budget& budget) {
  const size_t last = max == kUnbounded ? min : max;
  budget.spend(last * kStateSteps);
  TextSet result;
  for (size_t count = 0; count <= last; count++) {
    State& state = result.states_.emplace_back();
    state.accepts = count >= min;
    if (count < last || max == kUnbounded)
      append_range(state.edges, 0, kLastCode, uint32_t(std::min(count + 1, last)));
  }
  return result;
}

TextSet TextSet::complement(Budget& budget) const {
  TextSet result;
  const uint32_t rest = uint32_t(states_.size());  // after texts that leave this automaton
  bool has_rest = false;
  for (const State& state : states_) {
    budget.spend(kStateSteps + state.edges.size());
    State& inverse = result.states_.emplace_back();
    inverse.accepts = !state.accepts;
    char32_t next = 0;
    const auto add_gap = [&](char32_t last) {
      const size_t before = inverse.edges.size();
      append_range(inverse.edges, next, last, rest);
      has_rest = has_rest || inverse.edges.size() > before;
    };
    for (const Edge& edge : state.edges) {
      if (edge.first > next) add_gap(edge.first - 1);
      append(inverse.edges, edge);
      next = edge.last + 1;
    }
    add_gap(kLastCode);
  }
  if (!has_rest) return result;
  State& loop = result.states_.emplace_back();
  append_range(loop.edges, 0, kLastCode, rest);
  loop.accepts = true;
  return result;
}

TextSet TextSet::both(const TextSet& other, Budget& budget) const {
  TextSet result;
  Numbers<std::pair<uint32_t, uint32_t>> pairs;
  pairs.of({0, 0});
  for (size_t i = 0; i < pairs.size(); i++) {
    const auto [left, right] = pairs.key(i);
    const State &a = states_[left], &b = other.states_[right];
    budget.spend(kStateSteps + a.edges.size() + b.edges.size());
    State state{.edges = {}, .accepts = a.accepts && b.accepts};
    for (size_t x = 0, y = 0; x < a.edges.size() && y < b.edges.size();) {
      const char32_t first = std::max(a.edges[x].first, b.edges[y].first),
                     last = std::min(a.edges[x].last, b.edges[y].last);
      if (first <= last)
        append(state.edges, {first, last, pairs.of({a.edges[x].to, b.edges[y].to})});
      a.edges[x].last < b.edges[y].last ? x++ : y++;
    }
    result.states_.push_back(std::move(state));
  }
  return result;
}

TextSet TextSet::either(const TextSet& other, Budget& budget) const {
  return complement(budget).both(other.complement(budget), budget).complement(budget);
}

bool TextSet::empty() const {
  return std::none_of(states_.begin(), states_.end(),
                      [](const State& state) { return state.accepts; });
}

bool TextSet::contains(std::string_view text) const {
  uint32_t at = 0;
  for (size_t i = 0; i < text.size();) {
    const char32_t code = next_code_point(text, i);
    const std::vector<Edge>& edges = states_[at].edges;
    const auto edge = std::find_if(edges.begin(), edges.end(), [&](const Edge& e) {
      return e.first <= code && code <= e.last;
    });
    if (edge == edges.end()) return false;
    at = edge->to;
  }
  return states_[at].accepts;
}

}  // namespace wick::grammars
