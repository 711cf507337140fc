#include "text/grammar/matcher.h"

#include <algorithm>
#include <utility>

namespace wick::grammars {
namespace {

constexpr size_t kMaxMachineBytes = size_t(32) << 20;
constexpr size_t kMaxMaskBytes = size_t(16) << 20;  // of masks_, and of shapes_

void set_bit(std::vector<uint32_t>& words, uint32_t id) {
  words[id / 32] |= uint32_t(1) << (id % 32);
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
                 std::string where)
    : automaton_(std::move(automaton)),
      trie_(std::move(trie)),
      where_(std::move(where)),
      machine_(std::make_shared<Machine>(automaton_, where_)),
      machine_limit_(kMaxMachineBytes),
      shape_machine_(std::make_unique<Machine>(automaton_, where_)),
      path_(trie_->longest() + 1) {}

/// Begins a call: replaces a machine that has grown large, and moves the position to the current
/// one.
void Matcher::renew(Position& position) {
  if (machine_->bytes() > machine_limit_) {
    machine_ = std::make_shared<Machine>(automaton_, where_);
    machine_limit_ = kMaxMachineBytes;
    masks_.clear();
    mask_by_set_.clear();
  }
  machine_->start_work();
  if (position.machine == machine_) return;
  if (position.machine) {
    position.set = machine_->copy(*position.machine, position.set);
    // A deep text fills a machine by itself; it gets twice the room.
    machine_limit_ = std::max(machine_limit_, machine_->bytes() * 2);
    machine_->start_work();
  } else {
    position.set = machine_->start();
  }
  position.machine = machine_;
}

Position Matcher::start() {
  const std::lock_guard lock(mutex_);
  Position position;
  renew(position);
  return position;
}

bool Matcher::accept(Position& position, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  renew(position);
  uint32_t set = position.set;
  for (const char byte : bytes) {
    set = machine_->next(set, uint8_t(byte));
    if (set == Machine::kDead) return false;
  }
  position.set = set;
  return true;
}

bool Matcher::may_end(const Position& position) {
  const std::lock_guard lock(mutex_);
  return !position.machine->holes(position.set).empty();
}

bool Matcher::may_go_on(const Position& position) {
  const std::lock_guard lock(mutex_);
  return position.machine->has_items(position.set);
}

void Matcher::mask(Position& position, std::span<uint32_t> words) {
  const std::lock_guard lock(mutex_);
  renew(position);
  const Mask& mask = find_mask(position.set);
  const auto rest = std::copy(mask.words.begin(), mask.words.end(), words.begin());
  std::fill(rest, words.end(), 0);
}

/// Calls at_node(node, set) for the nodes first to last of the trie, of one depth, and those
/// below, with the set after their bytes. `set` is the one before `first`.
template <class Node>
void Matcher::walk(Machine& machine, uint32_t set, uint32_t first, uint32_t last,
                   const Node& at_node) {
  if (first == last) return;
  const TokenTrie::Node* const nodes = trie_->nodes().data();
  const uint32_t base = nodes[first].depth;
  path_[0] = set;
  for (uint32_t i = first; i < last;) {
    const uint32_t depth = nodes[i].depth - base;
    const uint32_t next = machine.next(path_[depth], nodes[i].byte);
    if (next == Machine::kDead) {
      i = nodes[i].end;
      continue;
    }
    path_[depth + 1] = next;
    at_node(i, next);
    i++;
  }
}

/// A count that allows the same tokens: all counts are alike that no token takes past a limit.
uint32_t Matcher::shape_count(const Item& item) const {
  const Automaton::State& state = automaton_->states[item.state];
  if (!state.has_counter()) return item.count;
  const uint32_t reach = trie_->longest();
  const bool is_far_from_max = state.max == kUnbounded || state.max - item.count > reach;
  if (!is_far_from_max) return item.count;
  if (item.count < state.min) return state.min - item.count > reach ? 0 : item.count;
  const bool min_is_far = state.max == kUnbounded || state.max - state.min > reach;
  return min_is_far ? state.min : item.count;
}

/// The shape of a set; lists: the lists of its items, by number of the hole.
const Matcher::Shape& Matcher::shape_of(std::span<const Item> items, std::vector<uint32_t>& lists) {
  Machine& machine = *shape_machine_;
  std::vector<Item> local;
  lists.clear();
  for (const Item& item : items) {
    const size_t hole = size_t(std::find(lists.begin(), lists.end(), item.returns) - lists.begin());
    if (hole == lists.size()) lists.push_back(item.returns);
    local.push_back({item.state, shape_count(item), machine.hole(uint32_t(hole))});
  }
  std::sort(local.begin(), local.end());
  local.erase(std::unique(local.begin(), local.end()), local.end());
  const uint32_t set = machine.set_of(local);
  const auto known = shapes_.find(set);
  if (known != shapes_.end()) return known->second;

  Shape shape;
  shape.words.resize(size_t(trie_->size() + 31) / 32);
  const TokenTrie::Node* const nodes = trie_->nodes().data();
  walk(machine, set, 0, trie_->node_count(), [&](uint32_t node, uint32_t after) {
    // After the end of a rule there is always a way on, so the token itself is allowed.
    for (uint32_t i = nodes[node].first_token; i < nodes[node + 1].first_token; i++)
      set_bit(shape.words, trie_->tokens()[i]);
    if (nodes[node].end > node + 1)
      for (const uint32_t hole : machine.holes(after)) shape.ends.push_back({node, hole});
  });
  std::stable_sort(shape.ends.begin(), shape.ends.end(),
                   [](const auto& a, const auto& b) { return a.hole < b.hole; });
  return shapes_.emplace(set, std::move(shape)).first->second;
}

const Matcher::Mask& Matcher::find_mask(uint32_t set) {
  const auto known = mask_by_set_.find(set);
  if (known != mask_by_set_.end()) {
    masks_.splice(masks_.begin(), masks_, known->second);
    return masks_.front();
  }
  const size_t mask_bytes = size_t(trie_->size() + 31) / 32 * 4 + 64;
  if (shapes_.size() * mask_bytes > kMaxMaskBytes || shape_machine_->bytes() > kMaxMachineBytes) {
    shapes_.clear();
    shape_machine_ = std::make_unique<Machine>(automaton_, where_);
  }
  shape_machine_->start_work();
  std::vector<uint32_t> lists;
  const Shape& shape = shape_of(machine_->items(set), lists);
  Mask mask{.set = set, .words = shape.words};
  const TokenTrie::Node* const nodes = trie_->nodes().data();
  uint32_t hole = UINT32_MAX, returns = Machine::kDead;
  for (const Shape::End& end : shape.ends) {
    if (end.hole != hole) returns = machine_->set_of_returns(lists[hole = end.hole]);
    if (!machine_->has_items(returns)) continue;
    walk(*machine_, returns, end.node + 1, nodes[end.node].end, [&](uint32_t node, uint32_t) {
      for (uint32_t i = nodes[node].first_token; i < nodes[node + 1].first_token; i++)
        set_bit(mask.words, trie_->tokens()[i]);
    });
  }
  if ((masks_.size() + 1) * mask_bytes > kMaxMaskBytes && !masks_.empty()) {
    mask_by_set_.erase(masks_.back().set);
    masks_.pop_back();
  }
  masks_.push_front(std::move(mask));
  mask_by_set_[set] = masks_.begin();
  return masks_.front();
}

}  // namespace wick::grammars
