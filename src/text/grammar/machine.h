// Runs an automaton: the sets of items that a text has reached, and the transitions between them.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/automaton.h"

namespace wick::grammars {

/// A point that a text has reached in a grammar: a state with its count, and the items from which
/// it goes on at the end of the state's rule (returns).
struct Item {
  uint32_t state;
  uint32_t count;
  uint32_t returns;  // a list of items
  auto operator<=>(const Item&) const = default;
};

/// Lists of items and sets of them, each stored once, so that equal ones have equal ids. A set
/// knows the set after each byte once it has been asked for.
///
/// The returns of a rule are the items of all callers that called it at the same byte, as in a
/// graph-structured stack (Tomita 1987), so the number of lists grows with the text and not with
/// the number of its readings. A hole stands for returns that are not known: at the bottom of a
/// text, and in the sets that a Matcher uses for shapes.
///
/// Not thread-safe. Errors: kUnsupported if a set would have more than kMaxItems, or if the calls
/// since start_work need more steps than it permits.
class Machine {
 public:
  static constexpr uint32_t kDead = 0;  // the set without items
  static constexpr size_t kMaxItems = size_t(1) << 12;
  /// Steps of one call from outside; a mask needs some thousands.
  static constexpr size_t kMaxWork = size_t(1) << 22;

  Machine(std::shared_ptr<const Automaton> automaton, std::string where);

  const Automaton& automaton() const { return *automaton_; }
  /// Permits kMaxWork steps from now on.
  void start_work() { work_ = 0; }

  /// The list that is hole number `index`.
  uint32_t hole(uint32_t index);
  /// The set before the text; hole 0 is at the bottom.
  uint32_t start();
  /// The set after one more byte.
  uint32_t next(uint32_t set, uint8_t byte) {
    const uint32_t known = sets_[set].next.empty() ? kUnknown : sets_[set].next[class_of_[byte]];
    return known != kUnknown ? known : find_next(set, class_of_[byte]);
  }
  /// The set of the items of a list, from which a text goes on after the end of a rule.
  uint32_t set_of_returns(uint32_t list);
  /// The set of these items, sorted, each with edges.
  uint32_t set_of(std::span<const Item> items) { return intern(items, {}); }

  /// The items of a set, and the holes that the text has reached the end of.
  std::span<const Item> items(uint32_t set) const {
    return {sets_[set].items.data(), sets_[set].own_items};
  }
  std::span<const uint32_t> holes(uint32_t set) const { return sets_[set].holes; }
  bool has_items(uint32_t set) const { return sets_[set].own_items > 0; }
  std::span<const Item> list(uint32_t id) const {
    return {list_items_.data() + lists_[id], list_items_.data() + lists_[id + 1]};
  }

  /// A set of another machine of the same automaton.
  uint32_t copy(const Machine& from, uint32_t set);

  size_t bytes() const { return bytes_; }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX, kHole = UINT32_MAX;
  struct Set {
    std::vector<Item> items;  // own ones, then the starts of the rules that they call
    size_t own_items;
    std::vector<uint32_t> holes;
    std::vector<uint32_t> next;  // by class; empty until the first is known
  };

  uint32_t intern(std::span<const Item> items, std::span<const uint32_t> holes);
  uint32_t intern_list(std::span<const Item> items);
  uint32_t find_next(uint32_t set, uint8_t byte_class);
  uint32_t close();
  void add(const Item& item);
  void expand(std::vector<Item>& items);
  void add_calls(const Item& item);
  void do_work(size_t steps);

  std::shared_ptr<const Automaton> automaton_;
  std::string where_;
  std::array<uint8_t, 256> class_of_;
  std::vector<Set> sets_;
  std::unordered_multimap<uint64_t, uint32_t> set_by_hash_;
  std::vector<Item> list_items_;
  std::vector<size_t> lists_ = {0};  // ends in list_items_
  std::unordered_multimap<uint64_t, uint32_t> list_by_hash_;
  std::unordered_map<uint32_t, uint32_t> set_by_returns_;
  size_t bytes_ = 0, work_ = 0;

  // Scratch of close and expand.
  std::vector<Item> reached_;
  std::vector<uint32_t> holes_;
  struct Seen {
    uint64_t round = 0;
    Item item = {};
  };
  std::vector<Seen> seen_;  // a hash table of reached_, valid for one round
  uint64_t round_ = 0;
  std::vector<std::vector<Item>> callers_;  // by rank of the rule
  std::vector<uint32_t> called_;            // a heap of ranks
};

}  // namespace wick::grammars
