// Token texts by id, and ids by text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::tokenization {

/// Ids run from 0; an id without a token has an empty text and is never found.
class Vocabulary {
 public:
  void reserve(size_t tokens, size_t bytes);
  /// Gives the text the next id. False if an earlier token has the text; ids still advance then.
  bool add(std::string_view text);
  /// The id of the text; -1 if no token has it.
  int32_t find(std::string_view text) const;

  int32_t size() const { return int32_t(ends_.size()); }
  std::string_view text(int32_t id) const {
    const size_t begin = id == 0 ? 0 : ends_[size_t(id) - 1];
    return {texts_.data() + begin, ends_[size_t(id)] - begin};
  }

 private:
  void grow();
  size_t slot_of(std::string_view text) const;

  std::string texts_;           // one after the other
  std::vector<size_t> ends_;    // in texts_, by id
  std::vector<int32_t> table_;  // ids by hash of their text, -1 where free; a power of two
  size_t used_ = 0;
};

/// The result of merging a pair of adjacent tokens.
struct Merge {
  uint32_t rank = 0;  // lower ranks merge first
  int32_t id = -1;    // of the merged token; -1: the pair does not merge
};

/// Merges by pair of ids.
class Merges {
 public:
  void reserve(size_t pairs);
  /// The merge of the pair; a new one with id -1 if the pair has no merge yet.
  Merge& of(int32_t left, int32_t right);
  Merge find(int32_t left, int32_t right) const {
    if (table_.empty()) return {};
    const uint64_t pair = pack(left, right);
    for (size_t at = hash(pair);; at = (at + 1) & (table_.size() - 1)) {
      const Entry& entry = table_[at];
      if (entry.pair == pair) return entry.merge;
      if (entry.pair == kFree) return {};
    }
  }
  /// Calls seen(left, right) for each pair.
  template <class Seen>
  void each(const Seen& seen) const {
    for (const Entry& entry : table_)
      if (entry.pair != kFree) seen(int32_t(entry.pair >> 32), int32_t(uint32_t(entry.pair)));
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t(0);
  struct Entry {
    uint64_t pair = kFree;
    Merge merge;
  };

  static uint64_t pack(int32_t left, int32_t right) {
    return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  }
  // Fibonacci hashing: the product's high bits depend on all bits of the pair.
  size_t hash(uint64_t pair) const { return size_t(pair * 0x9e3779b97f4a7c15 >> shift_); }

  std::vector<Entry> table_;
  int shift_ = 0;  // 64 - log2 of the table's size
  size_t used_ = 0;
};

}  // namespace wick::tokenization
