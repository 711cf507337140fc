// A grammar with a vocabulary: masks of the tokens that may come next.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/grammar/machine.h"
#include "text/grammar/token_trie.h"

namespace wick::grammars {

/// Where a text stands.
struct Position {
  std::shared_ptr<Machine> machine;
  uint32_t set = Machine::kDead;
};

/// Shared by all texts of a grammar and a vocabulary. Thread-safe: one thread at a time is inside.
/// Errors: as Machine.
class Matcher {
 public:
  Matcher(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
          std::string where);

  const std::shared_ptr<const TokenTrie>& trie() const { return trie_; }
  const std::string& where() const { return where_; }
  Position start();
  /// Moves on by the bytes. False, and nothing moves, if the grammar does not allow them there.
  bool accept(Position& position, std::string_view bytes);
  /// Whether the text may end, and whether it may go on.
  bool may_end(const Position& position);
  bool may_go_on(const Position& position);
  /// Sets bit i % 32 of word i / 32 for each id i that may come next, and clears the others. words
  /// has room for the vocabulary.
  void mask(Position& position, std::span<uint32_t> words);

 private:
  using Words = std::vector<uint32_t>;
  /// A set without its returns: the tokens that it allows in any case, and the nodes of the trie at
  /// which it reaches the end of a rule, below which the returns decide.
  struct Shape {
    struct End {
      uint32_t node;
      uint32_t hole;  // the number of the list among the lists of the set
    };
    Words words;
    std::vector<End> ends;  // by hole
  };
  struct Mask {
    uint32_t set;
    Words words;
  };

  void renew(Position& position);
  const Shape& shape_of(std::span<const Item> items, std::vector<uint32_t>& lists);
  const Mask& find_mask(uint32_t set);
  uint32_t shape_count(const Item& item) const;
  template <class Node>
  void walk(Machine& machine, uint32_t set, uint32_t first, uint32_t last, const Node& at_node);

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  std::string where_;
  std::mutex mutex_;
  std::shared_ptr<Machine> machine_;
  size_t machine_limit_;                        // bytes; then it is replaced
  std::unique_ptr<Machine> shape_machine_;      // its lists are holes
  std::unordered_map<uint32_t, Shape> shapes_;  // by set of shape_machine_
  std::list<Mask> masks_;                       // of machine_, the last used first
  std::unordered_map<uint32_t, std::list<Mask>::iterator> mask_by_set_;
  std::vector<uint32_t> path_;  // of walk: sets by depth
};

}  // namespace wick::grammars
