// The unigram model: splits a word into the tokens whose scores have the largest sum.
// Source: Kudo 2018, arXiv:1804.10959, without sampling.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/vocabulary.h"

namespace wick::tokenization {

class Unigram {
 public:
  enum class Precision {
    kDouble,  // HuggingFace: sums of scores are f64
    kSingle,  // SentencePiece: sums of scores are f32
  };

  explicit Unigram(Precision precision);

  /// A token that words are split into. Errors: kFormat, naming `where`, if the token exceeds 1024
  /// bytes.
  void add(std::string_view text, int32_t id, double score, const std::string& where);
  /// The token of characters that are no tokens, and the score of one; without it they are errors.
  void set_unknown(int32_t id, double score);
  /// Unknown characters become tokens "<0xXX>", if the vocabulary has them.
  void set_byte_tokens(const Vocabulary& vocabulary);
  /// The tokens that each word begins with and that are left out, as they belong to a text that
  /// the normalizer puts there. A word with fewer tokens keeps them.
  void set_left_out(size_t tokens) { left_out_ = tokens; }
  int32_t unknown() const { return unknown_; }

  /// Appends the word's tokens, unknown characters in a row as one. Time: the length of the word
  /// times the length of the longest token.
  /// without: by id, tokens that it does not become, but for unknown characters; nullptr: any.
  /// Errors: kUnsupported for an unknown character without a token.
  void encode(std::string_view word, const Vocabulary& vocabulary, Workspace& workspace,
              std::vector<Token>& to, const std::vector<bool>* without = nullptr) const;

 private:
  void find_best(std::string_view word, const std::vector<bool>* without,
                 std::vector<BestEnd>& best) const;
  double rounded(double sum) const { return single_ ? double(float(sum)) : sum; }
  void add_token(std::string_view word, const Vocabulary& vocabulary, Token token,
                 const std::vector<bool>* without, std::vector<Token>& to) const;

  Trie trie_;  // of ids
  std::vector<double> scores_;
  bool single_;
  int32_t unknown_ = -1;
  double unknown_score_ = 0;
  std::array<int32_t, 256> byte_tokens_;  // all -1 without byte fallback
  size_t left_out_ = 0;
};

}  // namespace wick::tokenization
