#include "text/grammar/machine.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "wick/base/error.h"

namespace wick::grammars {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

uint64_t hash_of(const Item& item) { return mix(mix(item.state, item.count), item.returns); }

uint64_t hash_of(std::span<const Item> items) {
  uint64_t hash = items.size();
  for (const Item& item : items) hash = mix(hash, hash_of(item));
  return hash;
}

template <class T>
bool is_same(std::span<const T> a, std::span<const T> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

template <class T>
void sort_unique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

Machine::Machine(std::shared_ptr<const Automaton> automaton, std::string where)
    : automaton_(std::move(automaton)),
      where_(std::move(where)),
      class_of_(automaton_->class_of),
      seen_(64),
      callers_(automaton_->rules.size()) {
  intern({}, {});  // kDead
}

void Machine::do_work(size_t steps) {
  work_ += steps;
  if (work_ > kMaxWork)
    fail(ErrorCode::kUnsupported, where_, "the grammar is too ambiguous: a token needs more than ",
         kMaxWork, " steps");
}

uint32_t Machine::intern_list(std::span<const Item> items) {
  const uint64_t hash = hash_of(items);
  const auto [begin, end] = list_by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (is_same(list(at->second), items)) return at->second;
  const uint32_t id = uint32_t(lists_.size() - 1);
  do_work(items.size());
  list_items_.insert(list_items_.end(), items.begin(), items.end());
  lists_.push_back(list_items_.size());
  list_by_hash_.emplace(hash, id);
  bytes_ += items.size() * sizeof(Item) + 48;
  return id;
}

uint32_t Machine::intern(std::span<const Item> items, std::span<const uint32_t> holes) {
  uint64_t hash = hash_of(items);
  for (const uint32_t hole : holes) hash = mix(hash, hole);
  const auto [begin, end] = set_by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (is_same(this->items(at->second), items) && is_same(this->holes(at->second), holes))
      return at->second;
  Set set{.items = {items.begin(), items.end()},
          .own_items = items.size(),
          .holes = {holes.begin(), holes.end()},
          .next = {}};
  expand(set.items);
  bytes_ += set.items.size() * sizeof(Item) + set.holes.size() * 4 + sizeof(Set) + 48;
  const uint32_t id = uint32_t(sets_.size());
  sets_.push_back(std::move(set));
  set_by_hash_.emplace(hash, id);
  return id;
}

uint32_t Machine::hole(uint32_t index) {
  const Item item = {kHole, index, 0};
  return intern_list({&item, 1});
}

uint32_t Machine::start() {
  const Automaton& automaton = *automaton_;
  const Item item = {automaton.rules[automaton.root].start, 0, hole(0)};
  const uint32_t bottom = 0;
  const bool reads = automaton.reads(item.state, item.count);
  return intern({&item, reads ? size_t(1) : 0}, {&bottom, automaton.allows_empty ? size_t(1) : 0});
}

/// Adds the calls of an item to callers_.
void Machine::add_calls(const Item& item) {
  const Automaton& automaton = *automaton_;
  for (const CallEdge& call : automaton.calls(item.state)) {
    if (!automaton.states[item.state].allows(call.step.guard, item.count)) continue;
    const uint32_t rank = automaton.rules[call.rule].rank;
    std::vector<Item>& callers = callers_[rank];
    if (callers.empty()) {
      called_.push_back(rank);
      std::push_heap(called_.begin(), called_.end(), std::greater<>());
    }
    if (automaton.states[call.step.target].is_final) {
      // The last part of a rule: its text ends where the rule's does.
      const std::span<const Item> returns = list(item.returns);
      callers.insert(callers.end(), returns.begin(), returns.end());
      do_work(returns.size());
    } else {
      callers.push_back({call.step.target,
                         automaton.states[item.state].count_after(call.step, item.count),
                         item.returns});
      do_work(1);
    }
  }
}

/// Appends the starts of the rules that the items call, and of those that these call.
void Machine::expand(std::vector<Item>& items) {
  try {
    for (const Item& item : items) add_calls(item);
    while (!called_.empty()) {
      std::pop_heap(called_.begin(), called_.end(), std::greater<>());
      const uint32_t rank = called_.back();
      called_.pop_back();
      sort_unique(callers_[rank]);
      if (callers_[rank].size() > kMaxItems) do_work(kMaxWork);
      const uint32_t rule = automaton_->rule_at[rank];
      const Item start = {automaton_->rules[rule].start, 0, intern_list(callers_[rank])};
      callers_[rank].clear();
      items.push_back(start);
      add_calls(start);
    }
  } catch (...) {
    for (std::vector<Item>& callers : callers_) callers.clear();
    called_.clear();
    throw;
  }
}

/// Adds a item to reached_ unless it is there.
void Machine::add(const Item& item) {
  const size_t mask = seen_.size() - 1;
  size_t slot = hash_of(item) & mask;
  for (; seen_[slot].round == round_; slot = (slot + 1) & mask)
    if (seen_[slot].item == item) return;
  seen_[slot] = {round_, item};
  reached_.push_back(item);
  do_work(1);
  if (reached_.size() * 2 <= seen_.size()) return;
  seen_.assign(seen_.size() * 2, {});
  round_++;
  for (const Item& old : reached_) {
    size_t at = hash_of(old) & (seen_.size() - 1);
    while (seen_[at].round == round_) at = (at + 1) & (seen_.size() - 1);
    seen_[at] = {round_, old};
  }
}

/// The set of the items in reached_ and all that they reach without a byte, of which those
/// without edges are left out.
uint32_t Machine::close() {
  const Automaton& automaton = *automaton_;
  for (size_t i = 0; i < reached_.size(); i++) {
    const Item item = reached_[i];
    const Automaton::State& state = automaton.states[item.state];
    if (state.is_final) {
      for (const Item& next : list(item.returns)) {
        if (next.state == kHole)
          holes_.push_back(next.count);
        else
          add(next);
      }
    }
    for (const Step& step : automaton.epsilons_of(item.state))
      if (state.allows(step.guard, item.count)) add({step.target, step.count, item.returns});
  }
  std::erase_if(reached_,
                [&](const Item& item) { return !automaton.reads(item.state, item.count); });
  if (reached_.size() > kMaxItems)
    fail(ErrorCode::kUnsupported, where_,
         "the grammar is too ambiguous: a text stands in more than ", kMaxItems, " items at once");
  std::sort(reached_.begin(), reached_.end());
  sort_unique(holes_);
  return intern(reached_, holes_);
}

uint32_t Machine::find_next(uint32_t set, uint8_t byte_class) {
  const Automaton& automaton = *automaton_;
  reached_.clear();
  holes_.clear();
  round_++;
  do_work(sets_[set].items.size());
  for (const Item& item : sets_[set].items) {
    const Automaton::State& state = automaton.states[item.state];
    for (const ByteEdge& edge : automaton.bytes(item.state))
      if (edge.first <= byte_class && byte_class <= edge.last &&
          state.allows(edge.step.guard, item.count))
        add({edge.step.target, state.count_after(edge.step, item.count), item.returns});
  }
  const uint32_t next = close();
  std::vector<uint32_t>& known = sets_[set].next;
  if (known.empty()) {
    known.assign(automaton.class_count, kUnknown);
    bytes_ += known.size() * sizeof(uint32_t);
  }
  return known[byte_class] = next;
}

uint32_t Machine::set_of_returns(uint32_t list_id) {
  const auto known = set_by_returns_.find(list_id);
  if (known != set_by_returns_.end()) return known->second;
  reached_.clear();
  holes_.clear();
  round_++;
  for (const Item& item : list(list_id)) {
    if (item.state == kHole)
      holes_.push_back(item.count);
    else
      add(item);
  }
  const uint32_t set = close();
  bytes_ += 48;
  return set_by_returns_[list_id] = set;
}

uint32_t Machine::copy(const Machine& from, uint32_t set) {
  // A list has items of older lists alone, so their ids are smaller.
  std::vector<uint32_t> needed, todo;
  std::unordered_map<uint32_t, uint32_t> copies;
  const auto need = [&](const Item& item) {
    if (item.state != kHole && copies.try_emplace(item.returns, 0).second)
      todo.push_back(item.returns);
  };
  for (const Item& item : from.items(set)) need(item);
  while (!todo.empty()) {
    const uint32_t id = todo.back();
    todo.pop_back();
    needed.push_back(id);
    for (const Item& item : from.list(id)) need(item);
  }
  std::sort(needed.begin(), needed.end());
  const auto copied = [&](std::span<const Item> items) {
    std::vector<Item> result(items.begin(), items.end());
    for (Item& item : result)
      if (item.state != kHole) item.returns = copies[item.returns];
    std::sort(result.begin(), result.end());
    return result;
  };
  for (const uint32_t id : needed) {
    copies[id] = intern_list(copied(from.list(id)));
    start_work();
  }
  return intern(copied(from.items(set)), from.holes(set));
}

}  // namespace wick::grammars
