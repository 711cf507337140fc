// The model: splits a word into tokens by byte-pair encoding.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace wick::tokenization {

/// A token of a word, and the bytes of the word that it stands for.
struct Token {
  int32_t id;
  uint32_t begin, end;
};

/// A part of a word while it is merged.
struct Symbol {
  int32_t id;
  uint32_t length;         // in bytes of the word; 0: merged into a symbol before it
  int32_t previous, next;  // -1: no symbol
};

/// Tokens of short words that were encoded before; a newer word replaces an older one.
class WordCache {
 public:
  WordCache();
  /// Appends the word's tokens if it has them.
  bool find(std::string_view word, size_t hash, std::vector<Token>& to) const;
  void keep(std::string_view word, size_t hash, const Token* tokens, size_t count);

 private:
  static constexpr size_t kSlots = 1 << 14, kBytes = 24, kTokens = 8;
  struct Slot {
    uint8_t bytes = 0, tokens = 0;
    std::array<char, kBytes> word;
    std::array<uint8_t, kTokens> ends;
    std::array<int32_t, kTokens> ids;
  };
  std::vector<Slot> slots_;
};

/// The best split of a word's first bytes, as its last token.
struct BestEnd {
  double score = 0;    // the sum of the tokens' scores
  uint32_t begin = 0;  // of the last token
  int32_t id = -1;     // -1: no split ends here
};

/// Memory that one thread at a time uses for encoding.
struct Workspace {
  WordCache cache;
  std::vector<Symbol> symbols;
  std::vector<uint64_t> heap;
  std::vector<BestEnd> best;  // by end
  std::vector<Token> path;
};

/// A character of the text that the model starts from is a byte (byte_letters) or a code point.
struct Bpe {
  Vocabulary vocabulary;  // may hold spellings from token_count on, met only while merging
  int32_t token_count = 0;
  Merges merges;

  bool byte_letters = false;    // words are raw bytes, which tokens spell in the byte alphabet
  bool ignore_merges = false;   // a word that is a token stays whole
  bool whole_newlines = false;  // a word of newlines that is a token stays whole
  bool fuse_unknown = false;    // adjacent unknown characters are one unknown token
  /// Words are cut before kSpaceMark where no merge joins both sides, into parts that the cache may
  /// hold. joins_mark: the bytes that a part before the mark ends with, if a merge joins it.
  bool cuts_at_marks = false;
  std::bitset<256> joins_mark;
  int32_t unknown = -1;                  // the token for unknown characters; -1: they are dropped
  std::string prefix, suffix;            // of a word's characters but the first, and of its last
  std::array<int32_t, 256> letters;      // with byte_letters: by byte; -1: no token
  std::array<int32_t, 256> byte_tokens;  // "<0xXX>"; all -1 without byte fallback
  /// The tokens of spellings that are no tokens, by id - token_count.
  std::vector<std::vector<int32_t>> spelled;

  Bpe() {
    letters.fill(-1);
    byte_tokens.fill(-1);
  }

  /// Sets cuts_at_marks and joins_mark. Call it when all else is set.
  void look_for_cuts();

  /// Appends the word's tokens. without: by id, tokens that it does not become; nullptr: any.
  void encode(std::string_view word, Workspace& workspace, std::vector<Token>& to,
              const std::vector<bool>* without = nullptr) const;

 private:
  void encode_part(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                   const std::vector<bool>* without) const;
  void encode_spelled(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                      const std::vector<bool>* without) const;
  void start(std::string_view word, bool is_bytes, const std::vector<bool>* without,
             std::vector<Symbol>& symbols) const;
  void add_tokens(const std::vector<Symbol>& symbols, std::vector<Token>& to) const;
  void merge(Workspace& workspace, const std::vector<bool>* without) const;
  void encode_anew(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                   const std::vector<bool>* without) const;
};

}  // namespace wick::tokenization
