// Tokens that are cut out of a text before the model sees it: special tokens, and those that were
// added to a vocabulary.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/pieces.h"

namespace wick::tokenization {

struct AddedToken {
  std::string text;
  int32_t id = -1;
  bool special = false;
  bool control = false;      // never read in users' text, as if it were special
  bool single_word = false;  // matches only between characters that are no letters of a word
  bool left_strip = false, right_strip = false;  // takes the white space beside it
  bool normalized = false;                       // matches in normalized text
};

/// A set of strings, of which those that start at a place of a text are found in one walk.
class Trie {
 public:
  void add(std::string_view text, int32_t value);
  bool empty() const { return nodes_.empty(); }
  /// Whether a string may start with this byte.
  bool starts_with(char first) const { return !empty() && first_[uint8_t(first)] > 0; }
  /// Calls found(length, value) for each string that the text starts with, shortest first.
  template <class Found>
  void walk(std::string_view text, const Found& found) const {
    if (text.empty() || !starts_with(text[0])) return;
    int32_t node = first_[uint8_t(text[0])];
    for (size_t at = 1;; at++) {
      if (nodes_[size_t(node)] >= 0) found(at, nodes_[size_t(node)]);
      if (at == text.size()) return;
      const auto next = edges_.find(uint64_t(node) << 8 | uint8_t(text[at]));
      if (next == edges_.end()) return;
      node = next->second;
    }
  }

 private:
  std::vector<int32_t> nodes_;        // values; -1: no value. Node 0 is the root
  std::array<int32_t, 256> first_{};  // children of the root; 0: no child
  std::unordered_map<uint64_t, int32_t> edges_;
};

class AddedTokens {
 public:
  /// The order in which overlapping matches win.
  enum class Order {
    kLeftmost,  // HuggingFace: the leftmost, of those that start there the longest
    kLongest,   // llama.cpp: the longest anywhere, of equal ones the one that was added first
  };

  explicit AddedTokens(Order order = Order::kLeftmost) : order_(order) {}
  /// Later tokens with the same text replace earlier ones.
  void add(AddedToken token);
  bool empty() const { return trie_.empty(); }
  const std::vector<AddedToken>& tokens() const { return tokens_; }

  /// Cuts the tokens out of the text pieces. special: also special tokens, except where a byte of
  /// one comes from users.
  void split(Pieces& all, bool special, const UserText& user = {}) const;

 private:
  /// A text piece, and whether tokens are looked for in it.
  struct Search {
    const Pieces& all;
    const Piece& piece;
    const bool special;
    const UserText& user;

    std::string_view text() const { return all.of(piece); }
    /// Whether bytes [begin, end) of the piece, which spell this token, are users' text.
    bool is_users(const AddedToken& token, size_t begin, size_t end) const {
      if (user.empty() || !(token.special || token.control)) return false;
      return user.touches(all.origin(piece.begin + uint32_t(begin), piece.begin + uint32_t(end)));
    }
  };
  struct Match {
    uint32_t begin, end;  // with the white space that the token takes
    int32_t id;
  };
  std::vector<Match> leftmost(const Search& search) const;
  std::vector<Match> longest(const Search& search) const;
  void choose(const Search& search, Span area, std::vector<int32_t>& competing,
              std::vector<Match>& matches) const;

  Order order_;
  std::vector<AddedToken> tokens_;
  Trie trie_;  // values index tokens_
};

}  // namespace wick::tokenization
