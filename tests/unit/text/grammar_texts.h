// Checks of a grammar: texts that it has and has not, and its masks against trying each token.
#pragma once
#include <set>

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/text/grammar.h"
#include "wick/text/tokenizer.h"

namespace wick::test {

inline Tokenizer golden_tokenizer(const std::string& name) {
  return Tokenizer::from_json(
      read_json(std::string(WICK_GOLDEN) + "/tokenizers/" + name + ".json"));
}

/// A table whose tokens are the bytes, then all pairs of these letters.
inline TokenTable pairs_table(const std::string& letters) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; byte++) bytes.emplace_back(1, char(byte));
  for (const char a : letters)
    for (const char b : letters) bytes.push_back({a, b});
  return TokenTable(std::move(bytes));
}

inline bool has_bit(const std::vector<uint32_t>& words, int64_t id) {
  return words[size_t(id) / 32] >> (id % 32) & 1;
}

inline std::vector<uint32_t> mask_of(GrammarState& state, int64_t ids) {
  std::vector<uint32_t> words(size_t(ids + 31) / 32 + 1, 0xffffffff);  // more than are needed
  state.mask(words);
  return words;
}

/// The mask has the tokens that a copy of the state accepts byte by byte, and no others.
inline void expect_exact_mask(const GrammarState& at, const TokenTable& table, int64_t end_id) {
  GrammarState state = at;
  const std::vector<uint32_t> words = mask_of(state, std::max(table.size(), end_id + 1));
  for (int64_t id = 0; id < int64_t(words.size()) * 32; id++) {
    const std::string_view bytes = table.bytes(id);
    GrammarState copy = at;
    bool allowed = !bytes.empty();
    for (const char byte : bytes) allowed = allowed && copy.accept_text({&byte, 1});
    if (id == end_id) allowed = at.may_end();
    EXPECT_EQ(has_bit(words, id), allowed) << "id " << id << ": " << bytes;
    GrammarState other = at;
    EXPECT_EQ(other.accept(id), allowed) << "id " << id << ": " << bytes;
  }
}

/// Walks the text token by token; at each, the mask is exact. It may end after it.
inline void expect_tokens(const Grammar& grammar, const Tokenizer& tokenizer,
                          const std::string& text) {
  SCOPED_TRACE(text);
  const TokenTable& table = tokenizer.token_table();
  const int64_t end_id = table.size() + 5;
  GrammarState state(grammar, table, {end_id});
  expect_exact_mask(state, table, end_id);
  std::string read;
  for (const int64_t id : tokenizer.encode_ids(text, {.add_special = false})) {
    std::string_view bytes = table.bytes(id);
    const bool has_own_space = read.empty() && bytes.starts_with(' ') && !text.starts_with(' ');
    if (has_own_space) bytes.remove_prefix(1);  // the tokenizer puts it before a text
    ASSERT_TRUE(has_own_space ? state.accept_text(bytes) : state.accept(id))
        << "\"" << tokenizer.token(id) << "\" after " << read;
    read += bytes;
    expect_exact_mask(state, table, end_id);
  }
  EXPECT_EQ(read, text);
  EXPECT_TRUE(state.may_end());
  EXPECT_TRUE(state.accept(end_id));
  EXPECT_TRUE(state.has_ended());
  EXPECT_FALSE(state.may_end());
}

/// Each text in full, and, byte by byte, no dead end before it is over.
inline void expect_texts(const Grammar& grammar, const std::vector<std::string>& texts,
                         const std::vector<std::string>& others) {
  for (const std::string& text : texts) EXPECT_TRUE(grammar.matches(text)) << text;
  for (const std::string& text : others) EXPECT_FALSE(grammar.matches(text)) << text;
}

/// All texts of up to `length` of these letters that the grammar has.
inline std::set<std::string> texts_of(const Grammar& grammar, const std::string& letters,
                                      size_t length) {
  std::set<std::string> result;
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); i++) {
    const std::string text = texts[i];
    if (grammar.matches(text)) result.insert(text);
    if (text.size() < length)
      for (const char letter : letters) texts.push_back(text + letter);
  }
  return result;
}

}  // namespace wick::test
