// Syntax to automaton: Thompson's construction for each rule, then the removal of dead ends, of
// empty rules and of left recursion.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "text/grammar/automaton.h"
#include "wick/base/error.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;
using Kind = Syntax::Kind;

constexpr uint32_t kBytes = UINT32_MAX;  // the rule of an edge that reads a byte

struct Edge {
  uint32_t rule;        // kBytes: reads a byte
  uint8_t first, last;  // bytes
  Step step;
};

struct State {
  std::vector<Edge> edges;
  std::vector<Step> epsilons;
  uint32_t min = 0, max = 0;  // as of Automaton::State
  uint32_t next(uint32_t count) const { return Automaton::State{0, 0, 0, min, max}.next(count); }
  bool allows(Guard guard, uint32_t count) const {
    return Automaton::State{0, 0, 0, min, max}.allows(guard, count);
  }
};

struct Rule {
  Expr body;
  uint32_t start = 0, final = 0;
  uint32_t first_state = 0, last_state = 0;  // [first, last); no edge leaves them
  bool is_productive = false;                // has a text
  bool is_nullable = false;
};

/// Strongly connected components of rules by the calls of their start states; Tarjan 1972. A
/// component comes after those that it calls.
class Components {
 public:
  explicit Components(const std::vector<std::vector<uint32_t>>& callees)
      : callees_(callees), index_(callees.size(), 0), low_(callees.size(), 0) {
    for (uint32_t rule = 0; rule < callees.size(); rule++)
      if (index_[rule] == 0) visit(rule);
  }
  const std::vector<std::vector<uint32_t>>& all() const { return all_; }

 private:
  struct Visit {
    uint32_t rule;
    size_t next;  // callee
  };
  void visit(uint32_t root) {
    std::vector<Visit> visits = {{root, 0}};
    while (!visits.empty()) {
      auto& [rule, next] = visits.back();
      if (next == 0) {
        index_[rule] = low_[rule] = ++count_;
        open_.push_back(rule);
      }
      if (next < callees_[rule].size()) {
        const uint32_t callee = callees_[rule][next++];
        if (index_[callee] == 0)
          visits.push_back({callee, 0});
        else
          low_[rule] = std::min(low_[rule], index_[callee]);
        continue;
      }
      const uint32_t done = rule;
      visits.pop_back();
      if (!visits.empty()) {
        uint32_t& low = low_[visits.back().rule];
        low = std::min(low, low_[done]);
      }
      if (low_[done] == index_[done]) close(done);
    }
  }
  void close(uint32_t rule) {
    std::vector<uint32_t>& component = all_.emplace_back();
    do {
      component.push_back(open_.back());
      index_[open_.back()] = kClosed;
      open_.pop_back();
    } while (component.back() != rule);
  }

  static constexpr uint32_t kClosed = UINT32_MAX;  // no component reaches back into a closed one
  const std::vector<std::vector<uint32_t>>& callees_;
  std::vector<uint32_t> index_, low_;  // 0: not visited
  std::vector<uint32_t> open_;
  uint32_t count_ = 0;
  std::vector<std::vector<uint32_t>> all_;
};

class Compiler {
 public:
  explicit Compiler(const Syntax& syntax) : syntax_(syntax) {}

  std::shared_ptr<const Automaton> run(Syntax::Rule root) {
    rule_of(syntax_.body(root));
    for (uint32_t i = 0; i < rules_.size(); i++) build_rule(i);
    remove_dead_ends();
    find_nullable();
    for (uint32_t i = 0; i < rules_.size(); i++) add_start(i);
    remove_empty_rules();
    remove_left_recursion();
    return finish();
  }

 private:
  // Construction.

  uint32_t add_state() {
    if (states_.size() >= kMaxStates) syntax_.fail_size(std::to_string(kMaxStates) + " states");
    states_.emplace_back();
    return uint32_t(states_.size() - 1);
  }
  void count_edge() {
    if (++edge_count_ > kMaxEdges) syntax_.fail_size(std::to_string(kMaxEdges) + " edges");
  }
  void add_edge(uint32_t from, const Edge& edge) {
    count_edge();
    states_[from].edges.push_back(edge);
  }
  void add_epsilon(uint32_t from, const Step& step) {
    count_edge();
    states_[from].epsilons.push_back(step);
  }
  void add_bytes(uint32_t from, uint8_t first, uint8_t last, uint32_t to) {
    add_edge(from, {kBytes, first, last, {to, 0}});
  }

  /// The rule with this body.
  uint32_t rule_of(Expr body) {
    const auto [at, is_new] = rule_by_body_.try_emplace(uint32_t(body), uint32_t(rules_.size()));
    if (is_new) rules_.push_back({.body = body});
    return at->second;
  }

  void build_rule(uint32_t index) {
    const uint32_t start = add_state(), final = add_state();
    build(rules_[index].body, start, final);
    Rule& rule = rules_[index];
    rule.start = rule.first_state = start;
    rule.final = final;
    rule.last_state = uint32_t(states_.size());
  }

  /// Subtracts the edges of the expression from `room`, and returns whether it was enough. A loop
  /// over many characters has its masks in common only if it stays a rule.
  bool fits_inline(Expr expr, int& room) const {
    const Syntax::Node& node = syntax_.node(expr);
    if (--room < 0) return false;
    switch (node.kind) {
      case Kind::kEmpty:
        return true;
      case Kind::kText:
        room -= int(std::min<size_t>(syntax_.texts_of(node)[0].size(), 1000));
        return room >= 0;
      case Kind::kTexts:
      case Kind::kGraph:
        return false;
      case Kind::kCharacters:
        room -= int(std::min<size_t>(syntax_.set_of(node).ranges().size(), 1000));
        return room >= 0;
      case Kind::kCall:
        return fits_inline(syntax_.body(syntax_.rule_of(node)), room);
      case Kind::kRepeat:
        if (node.max > 1 && !is_narrow(syntax_.part(node.first))) return false;
        [[fallthrough]];
      case Kind::kSequence:
      case Kind::kChoice:
        for (uint32_t i = node.first; i < node.last; i++)
          if (!fits_inline(syntax_.part(i), room)) return false;
        return true;
    }
    return false;
  }
  bool is_narrow(Expr expr) const {
    const Syntax::Node& node = syntax_.node(expr);
    if (node.kind == Kind::kCharacters) return syntax_.set_of(node).is_ascii();
    return node.kind == Kind::kText;
  }

  /// Adds the paths of the expression between two states without counters.
  void build(Expr expr, uint32_t from, uint32_t to) {
    const Syntax::Node& node = syntax_.node(expr);
    switch (node.kind) {
      case Kind::kEmpty:
        return add_epsilon(from, {to, 0});
      case Kind::kText:
        return build_text(syntax_.texts_of(node)[0], from, to);
      case Kind::kTexts:
        return build_texts(syntax_.texts_of(node), from, to);
      case Kind::kCharacters:
        return build_characters(syntax_.set_of(node), from, to);
      case Kind::kSequence:
        for (uint32_t i = node.first; i + 1 < node.last; i++) {
          const uint32_t middle = add_state();
          build(syntax_.part(i), from, middle);
          from = middle;
        }
        return build(syntax_.part(node.last - 1), from, to);
      case Kind::kChoice:
        for (uint32_t i = node.first; i < node.last; i++) build(syntax_.part(i), from, to);
        return;
      case Kind::kRepeat:
        return build_repeat(node, from, to);
      case Kind::kGraph:
        return build_graph(node, from, to);
      case Kind::kCall: {
        const Expr body = syntax_.body(syntax_.rule_of(node));
        int room = 16;
        if (fits_inline(body, room)) return build(body, from, to);
        return add_edge(from, {rule_of(body), 0, 0, {to, 0}});
      }
    }
  }

  void build_text(std::string_view text, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < text.size(); i++) {
      const uint32_t next = i + 1 == text.size() ? to : add_state();
      add_bytes(from, uint8_t(text[i]), uint8_t(text[i]), next);
      from = next;
    }
  }

  /// Texts share the states of their common beginnings.
  void build_texts(std::vector<std::string> texts, uint32_t from, uint32_t to) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    std::vector<uint32_t> path = {from};  // by the number of bytes read
    std::string_view before;
    for (const std::string& text : texts) {
      const auto differ = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
      path.resize(size_t(differ.first - before.begin()) + 1);
      for (size_t i = path.size() - 1; i < text.size(); i++) {
        const uint32_t next = add_state();
        add_bytes(path.back(), uint8_t(text[i]), uint8_t(text[i]), next);
        path.push_back(next);
      }
      add_epsilon(path.back(), {to, 0});
      before = text;
    }
  }

  void build_characters(const CodePoints& set, uint32_t from, uint32_t to) {
    std::array<std::optional<uint32_t>, 4> rests;  // states before so many continuation bytes
    rests[0] = to;
    std::map<std::pair<uint32_t, uint16_t>, uint32_t> begun;  // by state and byte range
    const auto full_rest = [&](int count) {
      for (int i = 1; i <= count; i++)
        if (!rests[size_t(i)]) {
          rests[size_t(i)] = add_state();
          add_bytes(*rests[size_t(i)], 0x80, 0xbf, *rests[size_t(i) - 1]);
        }
      return *rests[size_t(count)];
    };
    for (const ByteSequence& sequence : utf8_sequences(set)) {
      uint32_t at = from;
      for (int i = 0; i < sequence.length; i++) {
        const auto [first, last] = sequence.bytes[size_t(i)];
        const bool is_full = std::all_of(
            sequence.bytes.begin() + i + 1, sequence.bytes.begin() + sequence.length,
            [](const ByteRange& range) { return range.first == 0x80 && range.last == 0xbf; });
        if (is_full) {
          add_bytes(at, first, last, full_rest(sequence.length - i - 1));
          break;
        }
        const auto [next, is_new] = begun.try_emplace({at, uint16_t(first << 8 | last)}, 0);
        if (is_new) {
          next->second = add_state();
          add_bytes(at, first, last, next->second);
        }
        at = next->second;
      }
    }
  }

  void build_repeat(const Syntax::Node& node, uint32_t from, uint32_t to) {
    const Expr part = syntax_.part(node.first);
    if (node.max == 1) {
      add_epsilon(from, {to, 0});
      return build(part, from, to);
    }
    const uint32_t loop = add_state();
    add_epsilon(from, {loop, 0});
    if (node.max == kUnbounded && node.min <= 1) {
      const uint32_t after = node.min == 0 ? loop : add_state();
      build(part, loop, after);
      if (after != loop) add_epsilon(after, {loop, 0});
      return add_epsilon(after, {to, 0});
    }
    states_[loop].min = node.min;
    states_[loop].max = node.max;
    const Step again = {loop, kNextCount, Guard::kBelowMax};
    const Syntax::Node& body = syntax_.node(part);
    if (body.kind == Kind::kCharacters && syntax_.set_of(body).is_ascii()) {
      for (const auto& [first, last] : syntax_.set_of(body).ranges())
        add_edge(loop, {kBytes, uint8_t(first), uint8_t(last), again});
    } else {
      const bool is_call = body.kind == Kind::kCall;
      const Expr called = is_call ? syntax_.body(syntax_.rule_of(body)) : part;
      add_edge(loop, {rule_of(called), 0, 0, again});
    }
    add_epsilon(loop, {to, 0, Guard::kFromMin});
  }

  void build_graph(const Syntax::Node& node, uint32_t from, uint32_t to) {
    std::vector<uint32_t> states(node.max);
    for (uint32_t& state : states) state = add_state();
    add_epsilon(from, {states[0], 0});
    add_epsilon(states[1], {to, 0});
    for (const Syntax::Arrow& arrow : syntax_.arrows_of(node))
      build(arrow.expr, states[arrow.from], states[arrow.to]);
  }

  // Analysis.

  /// The rule that a state must be able to read before it can leave its loop; kBytes if there is
  /// no such rule.
  uint32_t needed(const State& state, Guard guard) const {
    return guard == Guard::kFromMin && state.min > 0 && !state.edges.empty() ? state.edges[0].rule
                                                                             : kBytes;
  }

  /// Removes the edges from which no path ends the rule.
  void remove_dead_ends() {
    struct Use {
      uint32_t from, rule;
    };
    std::vector<std::vector<Use>> uses(states_.size());  // of a state as a target
    for (uint32_t from = 0; from < states_.size(); from++) {
      const State& state = states_[from];
      for (const Edge& edge : state.edges)
        if (edge.step.target != from) uses[edge.step.target].push_back({from, edge.rule});
      for (const Step& step : state.epsilons)
        if (step.guard != Guard::kFromMin || state.min == 0 || !state.edges.empty())
          uses[step.target].push_back({from, needed(state, step.guard)});
    }
    std::vector<bool> is_live(states_.size());
    std::vector<std::vector<uint32_t>> waiting(rules_.size());  // states that need the rule
    std::unordered_map<uint32_t, uint32_t> rule_of_start;
    for (uint32_t i = 0; i < rules_.size(); i++) rule_of_start[rules_[i].start] = i;
    std::vector<uint32_t> todo;
    const auto set_live = [&](uint32_t state) {
      if (!is_live[state]) todo.push_back(state);
      is_live[state] = true;
    };
    for (const Rule& rule : rules_) set_live(rule.final);
    while (!todo.empty()) {
      const uint32_t state = todo.back();
      todo.pop_back();
      if (const auto start = rule_of_start.find(state); start != rule_of_start.end()) {
        rules_[start->second].is_productive = true;
        for (const uint32_t from : waiting[start->second]) set_live(from);
      }
      for (const auto& [from, rule] : uses[state])
        if (rule == kBytes || rules_[rule].is_productive)
          set_live(from);
        else
          waiting[rule].push_back(from);
    }
    check(rules_[0].is_productive, ErrorCode::kInvalidArgument, syntax_.where(),
          "no text matches the grammar");
    for (State& state : states_) {
      std::erase_if(state.edges, [&](const Edge& edge) {
        return !is_live[edge.step.target] ||
               (edge.rule != kBytes && !rules_[edge.rule].is_productive);
      });
      std::erase_if(state.epsilons, [&](const Step& step) { return !is_live[step.target]; });
    }
  }

  /// Finds the rules that have the empty text, and adds an epsilon beside each call of them.
  void find_nullable() {
    std::vector<bool> is_reached(states_.size());  // from the start of its rule, without a byte
    std::vector<std::vector<uint32_t>> waiting(rules_.size());  // states reached if it is nullable
    std::unordered_map<uint32_t, uint32_t> rule_of_final;
    for (uint32_t i = 0; i < rules_.size(); i++) rule_of_final[rules_[i].final] = i;
    std::vector<uint32_t> todo;
    const auto reach = [&](uint32_t state) {
      if (!is_reached[state]) todo.push_back(state);
      is_reached[state] = true;
    };
    const auto reach_by = [&](uint32_t rule, uint32_t state) {
      if (rules_[rule].is_nullable)
        reach(state);
      else
        waiting[rule].push_back(state);
    };
    for (const Rule& rule : rules_) reach(rule.start);
    while (!todo.empty()) {
      const uint32_t at = todo.back();
      todo.pop_back();
      if (const auto final = rule_of_final.find(at); final != rule_of_final.end()) {
        rules_[final->second].is_nullable = true;
        for (const uint32_t state : waiting[final->second]) reach(state);
      }
      const State& state = states_[at];
      for (const Edge& edge : state.edges)
        if (edge.rule != kBytes) reach_by(edge.rule, edge.step.target);
      for (const Step& step : state.epsilons) {
        if (step.guard != Guard::kFromMin || state.min == 0)
          reach(step.target);
        else if (needed(state, step.guard) != kBytes)
          reach_by(needed(state, step.guard), step.target);
      }
    }
    for (uint32_t at = 0; at < states_.size(); at++)
      for (size_t i = 0; i < states_[at].edges.size(); i++) {
        const Edge edge = states_[at].edges[i];
        if (edge.rule == kBytes || !rules_[edge.rule].is_nullable) continue;
        if (edge.step.count == kNextCount)
          states_[at].min = 0;  // empty repetitions make up for those that lack
        else
          add_epsilon(at, edge.step);
      }
  }

  /// Gives the rule a start state that has the edges of all states that the old one reaches
  /// without reading, and that is not final.
  void add_start(uint32_t index) {
    const uint32_t fresh = add_state();
    std::vector<std::pair<uint32_t, uint32_t>> todo = {{rules_[index].start, 0}};  // state, count
    std::unordered_map<uint32_t, bool> is_seen;
    while (!todo.empty()) {
      const auto [at, count] = todo.back();
      todo.pop_back();
      if (std::exchange(is_seen[at], true)) continue;
      for (size_t i = 0; i < states_[at].edges.size(); i++) {
        Edge edge = states_[at].edges[i];
        if (!states_[at].allows(edge.step.guard, count)) continue;
        if (edge.step.count == kNextCount) edge.step.count = states_[at].next(count);
        edge.step.guard = Guard::kAlways;
        add_edge(fresh, edge);
      }
      for (const Step& step : states_[at].epsilons)
        if (states_[at].allows(step.guard, count)) todo.push_back({step.target, step.count});
    }
    rules_[index].start = fresh;
  }

  /// Removes the calls of rules that have the empty text alone.
  void remove_empty_rules() {
    std::vector<std::vector<uint32_t>> callers(rules_.size());  // that may begin with the rule
    std::vector<bool> reads(rules_.size());
    std::vector<uint32_t> todo;
    for (uint32_t i = 0; i < rules_.size(); i++)
      for (const Edge& edge : states_[rules_[i].start].edges) {
        if (edge.rule != kBytes)
          callers[edge.rule].push_back(i);
        else if (!reads[i])
          reads[i] = true, todo.push_back(i);
      }
    while (!todo.empty()) {
      const uint32_t rule = todo.back();
      todo.pop_back();
      for (const uint32_t caller : callers[rule])
        if (!reads[caller]) reads[caller] = true, todo.push_back(caller);
    }
    for (State& state : states_)
      std::erase_if(state.edges,
                    [&](const Edge& edge) { return edge.rule != kBytes && !reads[edge.rule]; });
  }

  std::vector<std::vector<uint32_t>> first_callees() const {
    std::vector<std::vector<uint32_t>> callees(rules_.size());
    for (uint32_t i = 0; i < rules_.size(); i++)
      for (const Edge& edge : states_[rules_[i].start].edges)
        if (edge.rule != kBytes) callees[i].push_back(edge.rule);
    return callees;
  }

  void remove_left_recursion() {
    const std::vector<std::vector<uint32_t>> callees = first_callees();
    const Components components(callees);
    for (const std::vector<uint32_t>& component : components.all()) {
      const uint32_t one = component[0];
      if (component.size() > 1 || std::count(callees[one].begin(), callees[one].end(), one) > 0)
        unwind(component);
    }
  }

  /// Rewrites rules that begin with each other (left-corner transform). A text of such a rule A
  /// begins with a text of some rule B of the component that begins outside of it. At the end of B
  /// stands any rule that begins with B, after that call; in the end, A itself.
  void unwind(const std::vector<uint32_t>& component) {
    const auto is_inside = [&](uint32_t rule) {
      return rule != kBytes && std::count(component.begin(), component.end(), rule) > 0;
    };
    std::vector<std::pair<uint32_t, uint32_t>> unwound;  // start and final
    for (const uint32_t goal : component) {
      std::unordered_map<uint32_t, uint32_t> copies;  // first state of a rule's copy, by rule
      for (const uint32_t rule : component) {
        copies[rule] = uint32_t(states_.size());
        const uint32_t first = rules_[rule].first_state;
        for (uint32_t old = first; old < rules_[rule].last_state; old++) {
          const uint32_t copy = add_state();
          State state = states_[old];
          for (Edge& edge : state.edges) count_edge(), edge.step.target += copies[rule] - first;
          for (Step& step : state.epsilons) count_edge(), step.target += copies[rule] - first;
          states_[copy] = std::move(state);
        }
      }
      const auto copy_of = [&](uint32_t rule, uint32_t state) {
        return state - rules_[rule].first_state + copies[rule];
      };
      const uint32_t start = add_state(), final = add_state();
      for (const uint32_t rule : component)
        for (size_t i = 0; i < states_[rules_[rule].start].edges.size(); i++) {
          Edge edge = states_[rules_[rule].start].edges[i];
          edge.step.target = copy_of(rule, edge.step.target);
          if (is_inside(edge.rule))
            add_epsilon(copy_of(edge.rule, rules_[edge.rule].final), edge.step);
          else
            add_edge(start, edge);
        }
      add_epsilon(copy_of(goal, rules_[goal].final), {final, 0});
      unwound.emplace_back(start, final);
    }
    for (size_t i = 0; i < component.size(); i++)
      std::tie(rules_[component[i]].start, rules_[component[i]].final) = unwound[i];
  }

  // The result.

  /// The state that a step leads to, past states that have nothing but one epsilon.
  Step without_detours(Step step) const {
    if (step.count == kNextCount) return step;
    for (int i = 0; i < 1000; i++) {
      const State& state = states_[step.target];
      if (state.max > 0 || !state.edges.empty() || state.epsilons.size() != 1) break;
      step.target = state.epsilons[0].target;
      step.count = state.epsilons[0].count;
    }
    return step;
  }

  std::shared_ptr<const Automaton> finish() {
    const auto result = std::make_shared<Automaton>();
    std::unordered_map<uint32_t, uint32_t> new_rule, new_state;
    std::vector<uint32_t> rules, states;  // old ones, in the new order
    const auto add_rule = [&](uint32_t rule) {
      const auto [at, is_new] = new_rule.try_emplace(rule, uint32_t(rules.size()));
      if (is_new) rules.push_back(rule);
      return at->second;
    };
    const auto add_target = [&](Step step) {
      step = without_detours(step);
      const auto [at, is_new] = new_state.try_emplace(step.target, uint32_t(states.size()));
      if (is_new) states.push_back(step.target);
      step.target = at->second;
      return step;
    };
    mark_classes(*result);
    std::unordered_map<uint32_t, bool> is_final;
    for (const Rule& rule : rules_) is_final[rule.final] = true;
    add_rule(0);
    size_t done_rules = 0, done_states = 0;
    const auto append = [&](uint32_t old) {
      const State& state = states_[old];
      result->states.push_back(
          {uint32_t(result->byte_edges.size()), uint32_t(result->call_edges.size()),
           uint32_t(result->epsilons.size()), state.min, state.max, is_final.count(old) > 0});
      for (const Edge& edge : state.edges) {
        if (edge.rule == kBytes)
          result->byte_edges.push_back(
              {result->class_of[edge.first], result->class_of[edge.last], add_target(edge.step)});
        else
          result->call_edges.push_back({add_rule(edge.rule), add_target(edge.step)});
      }
      for (const Step& step : state.epsilons) result->epsilons.push_back(add_target(step));
    };
    while (done_rules < rules.size() || done_states < states.size()) {
      if (done_rules < rules.size()) {
        const uint32_t start = rules_[rules[done_rules++]].start;
        const Step step = add_target({start, 0});
        result->rules.push_back({step.target, 0});
      }
      for (; done_states < states.size(); done_states++) append(states[done_states]);
    }
    result->states.push_back({uint32_t(result->byte_edges.size()),
                              uint32_t(result->call_edges.size()),
                              uint32_t(result->epsilons.size())});
    result->root = 0;
    result->allows_empty = rules_[0].is_nullable;
    set_ranks(*result);
    return result;
  }

  void mark_classes(Automaton& result) const {
    std::array<bool, 257> begins = {};
    for (const State& state : states_)
      for (const Edge& edge : state.edges)
        if (edge.rule == kBytes) begins[edge.first] = begins[size_t(edge.last) + 1] = true;
    uint32_t index = 0;
    for (size_t byte = 0; byte < 256; byte++) {
      if (byte > 0 && begins[byte]) index++;
      result.class_of[byte] = uint8_t(index);
    }
    result.class_count = index + 1;
  }

  static void set_ranks(Automaton& result) {
    std::vector<std::vector<uint32_t>> callees(result.rules.size());
    for (size_t i = 0; i < result.rules.size(); i++)
      for (const CallEdge& call : result.calls(result.rules[i].start))
        callees[i].push_back(call.rule);
    const Components components(callees);
    uint32_t rank = uint32_t(result.rules.size());
    result.rule_at.resize(rank);
    for (const std::vector<uint32_t>& component : components.all()) {
      WICK_ASSERT(component.size() == 1);
      result.rules[component[0]].rank = --rank;
      result.rule_at[rank] = component[0];
    }
  }

  const Syntax& syntax_;
  std::vector<State> states_;
  std::vector<Rule> rules_;  // the root first
  std::unordered_map<uint32_t, uint32_t> rule_by_body_;
  size_t edge_count_ = 0;
};

}  // namespace

std::shared_ptr<const Automaton> compile(const Syntax& syntax, Syntax::Rule root) {
  return Compiler(syntax).run(root);
}

}  // namespace wick::grammars
