// A compiled grammar: one nondeterministic automaton for each rule, over bytes.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/grammar/syntax.h"

namespace wick::grammars {

/// When a state with a counter has an edge; its own count decides. A state without one has it
/// always.
enum class Guard : uint8_t {
  kAlways,
  kBelowMax,  // count < max
  kFromMin,   // count >= min
};

/// The count that an edge gives its target: one more than the state's own.
inline constexpr uint32_t kNextCount = UINT32_MAX;

/// A state at the end of an edge, and its count.
struct Step {
  uint32_t target;
  uint32_t count;  // kNextCount only if the target is the state itself
  Guard guard = Guard::kAlways;
};
/// Reads one byte of the classes first to last.
struct ByteEdge {
  uint8_t first, last;
  Step step;
};
/// Reads a text of the rule.
struct CallEdge {
  uint32_t rule;
  Step step;
};

/// No rule reads the empty text: where one can, its callers have an epsilon beside the call. Every
/// state can reach the final one of its rule. The calls of the rules' start states have no cycle:
/// no rule is left-recursive.
struct Automaton {
  struct State {
    uint32_t first_byte, first_call, first_epsilon;  // the next state's are the ends
    uint32_t min = 0, max = 0;                       // of the counter; max 0: no counter
    bool is_final = false;                           // the end of a rule; it has no edges

    bool has_counter() const { return max > 0; }
    /// The count after one more repetition. Without a limit all counts from min on are alike.
    uint32_t next(uint32_t count) const {
      return max == kUnbounded && count >= min ? min : count + 1;
    }
    bool allows(Guard guard, uint32_t count) const {
      return guard == Guard::kAlways || (guard == Guard::kBelowMax ? count < max : count >= min);
    }
    uint32_t count_after(const Step& step, uint32_t count) const {
      return step.count == kNextCount ? next(count) : step.count;
    }
  };
  struct Rule {
    uint32_t start;  // has no epsilons, guards or counter
    uint32_t rank;   // greater than the rank of each rule whose start calls this one
  };

  std::vector<State> states;  // and one more, which ends the lists of the last
  std::vector<ByteEdge> byte_edges;
  std::vector<CallEdge> call_edges;
  std::vector<Step> epsilons;
  std::vector<Rule> rules;
  std::vector<uint32_t> rule_at;  // by rank
  uint32_t root = 0;
  bool allows_empty = false;               // whether the empty text is one of the grammar's
  std::array<uint8_t, 256> class_of = {};  // bytes that no edge distinguishes share a class
  uint32_t class_count = 1;

  std::span<const ByteEdge> bytes(uint32_t state) const {
    return {byte_edges.data() + states[state].first_byte,
            byte_edges.data() + states[state + 1].first_byte};
  }
  std::span<const CallEdge> calls(uint32_t state) const {
    return {call_edges.data() + states[state].first_call,
            call_edges.data() + states[state + 1].first_call};
  }
  std::span<const Step> epsilons_of(uint32_t state) const {
    return {epsilons.data() + states[state].first_epsilon,
            epsilons.data() + states[state + 1].first_epsilon};
  }
  /// Whether the state has an edge. All edges of a state with a counter repeat it.
  bool reads(uint32_t state, uint32_t count) const {
    const bool has_edges = !bytes(state).empty() || !calls(state).empty();
    return has_edges && (!states[state].has_counter() || count < states[state].max);
  }
};

/// States and edges of an automaton.
inline constexpr size_t kMaxStates = size_t(1) << 19, kMaxEdges = size_t(1) << 20;

/// The automaton for the texts of the rule, all of whose rules are defined.
/// Errors: kUnsupported if it exceeds a limit; kInvalidArgument if the grammar has no text.
std::shared_ptr<const Automaton> compile(const Syntax& syntax, Syntax::Rule root);

}  // namespace wick::grammars
