#include "text/tokenizer/unigram.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/characters.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

bool has(const std::vector<bool>* tokens, int32_t id) {
  return tokens && size_t(id) < tokens->size() && (*tokens)[size_t(id)];
}

}  // namespace

Unigram::Unigram(Precision precision) : single_(precision == Precision::kSingle) {
  byte_tokens_.fill(-1);
}

void Unigram::add(std::string_view text, int32_t id, double score, const std::string& where) {
  constexpr size_t kMaxBytes = 1024;  // so that a long text takes time in proportion to its length
  check(text.size() <= kMaxBytes, ErrorCode::kFormat, where, "the token ", in_quotes(text), " has ",
        text.size(), " bytes, expected at most ", kMaxBytes);
  if (text.empty()) return;
  if (scores_.size() <= size_t(id)) scores_.resize(size_t(id) + 1);
  scores_[size_t(id)] = score;
  trie_.add(text, id);
}

void Unigram::set_unknown(int32_t id, double score) {
  unknown_ = id;
  unknown_score_ = score;
}

void Unigram::set_byte_tokens(const Vocabulary& vocabulary) {
  for (size_t byte = 0; byte < byte_tokens_.size(); byte++)
    byte_tokens_[byte] = vocabulary.find(spelling_of_byte(uint8_t(byte)));
}

/// The best split of the word's first bytes, for each end of a character.
void Unigram::find_best(std::string_view word, const std::vector<bool>* without,
                        std::vector<BestEnd>& best) const {
  best.assign(word.size() + 1, BestEnd());
  for (size_t begin = 0; begin < word.size();) {
    const double before = best[begin].score;
    const auto offer = [&](size_t length, int32_t id, double sum) {
      BestEnd& end = best[begin + length];
      if (end.id < 0 || sum > end.score) end = {sum, uint32_t(begin), id};
    };
    const size_t character = character_length(word[begin]);
    bool is_token = false;
    trie_.walk(word.substr(begin), [&](size_t length, int32_t id) {
      if (has(without, id)) return;
      is_token = is_token || length == character;
      offer(length, id, rounded(scores_[size_t(id)] + before));
    });
    if (!is_token) {
      check(unknown_ >= 0, ErrorCode::kUnsupported, "Tokenizer", "the model has no token for ",
            in_quotes(word.substr(begin, character)), ", nor one for unknown characters");
      offer(character, unknown_, rounded(unknown_score_ + before));
    }
    begin += character;
  }
}

void Unigram::encode(std::string_view word, const Vocabulary& vocabulary, Workspace& workspace,
                     std::vector<Token>& to, const std::vector<bool>* without) const {
  find_best(word, without, workspace.best);
  std::vector<Token>& path = workspace.path;  // from the end to the start
  path.clear();
  for (uint32_t end = uint32_t(word.size()); end > 0;) {
    const BestEnd& best = workspace.best[end];
    if (best.id == unknown_ && !path.empty() && path.back().id == unknown_)
      path.back().begin = best.begin;
    else
      path.push_back({best.id, best.begin, end});
    end = best.begin;
  }
  const size_t first = to.size();
  for (auto token = path.rbegin(); token != path.rend(); ++token)
    add_token(word, vocabulary, *token, without, to);
  if (left_out_ > 0 && to.size() - first >= left_out_)
    to.erase(to.begin() + ptrdiff_t(first), to.begin() + ptrdiff_t(first + left_out_));
}

/// Adds a token of the path. Unknown characters may spell a token that words are not split into.
void Unigram::add_token(std::string_view word, const Vocabulary& vocabulary, Token token,
                        const std::vector<bool>* without, std::vector<Token>& to) const {
  if (token.id != unknown_) return to.push_back(token);
  const std::string_view text = word.substr(token.begin, token.end - token.begin);
  if (const int32_t id = vocabulary.find(text); id >= 0 && !has(without, id))
    return to.push_back({id, token.begin, token.end});
  const bool has_bytes = std::all_of(text.begin(), text.end(),
                                     [&](char byte) { return byte_tokens_[uint8_t(byte)] >= 0; });
  if (!has_bytes) return to.push_back(token);
  for (const char byte : text) to.push_back({byte_tokens_[uint8_t(byte)], token.begin, token.end});
}

}  // namespace wick::tokenization
