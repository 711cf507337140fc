// Masks over vocabularies, and the states of texts.
#include <algorithm>
#include <random>
#include <thread>

#include "base/utf8.h"
#include "grammar_texts.h"

namespace wick {
namespace {

using test::expect_exact_mask;
using test::expect_tokens;
using test::golden_tokenizer;
using test::has_bit;
using test::mask_of;
using test::pairs_table;

class GrammarTokens : public testing::TestWithParam<const char*> {};

/// Each family of spellings: byte letters, "<0xXX>", marked spaces, word ends.
INSTANTIATE_TEST_SUITE_P(Golden, GrammarTokens,
                         testing::Values("gpt2", "llama3", "qwen2", "tekken", "llama2", "gemma",
                                         "llama2_metaspace", "added"));

TEST_P(GrammarTokens, WalkJson) {
  const Tokenizer tokenizer = golden_tokenizer(GetParam());
  expect_tokens(
      Grammar::json_object(), tokenizer,
      "{\"the name\": \"he said: \\\"hello\\\" \u00e9\u4f60\U0001f600\", \"n\": [1, 2.5e3, "
      "{\"x\": {\"y\": [[], {}]}}],\n  \"t\": true}");
}

TEST_P(GrammarTokens, WalkOtherGrammars) {
  const Tokenizer tokenizer = golden_tokenizer(GetParam());
  expect_tokens(Grammar::choice({"hello world", "hello there", "hello"}), tokenizer, "hello there");
  expect_tokens(Grammar::regex("[a-z]{3,40}( \\w{1,20}){2,9}[.!]"), tokenizer,
                "once upon a time there was a king.");
  expect_tokens(Grammar::gbnf("root ::= root (\" + \" | \" - \") t | t\nt ::= [a-z]+ | \"(\" root "
                              "\")\""),
                tokenizer, "a + (the - (he + it)) - once");
  expect_tokens(Grammar::regex("(.|\n){0,30}"), tokenizer, "caf\u00e9 \U0001f600\n and more");
}

TEST(TokenTable, HasTheBytesOfEachSpelling) {
  const auto bytes = [](const char* name, const char* token) {
    const Tokenizer tokenizer = golden_tokenizer(name);
    return std::string(tokenizer.token_table().bytes(tokenizer.id_of(token).value()));
  };
  EXPECT_EQ(bytes("gpt2", "\u0120"), " ");
  EXPECT_EQ(bytes("gpt2", "\u00c3"), "\xc3");
  EXPECT_EQ(bytes("llama2", "<0x0A>"), "\n");
  EXPECT_EQ(bytes("llama2", "<0xC3>"), "\xc3");
  EXPECT_EQ(bytes("llama2", "\u2581"), " ");
  EXPECT_EQ(bytes("llama2", "<s>"), "");
  EXPECT_EQ(bytes("gemma", "<0xFF>"), "\xff");
}

TEST(TokenTable, TokensInARowAreTheTextThatTheyDecodeTo) {
  for (const char* name :
       {"gpt2", "llama3", "llama4", "qwen2", "tekken", "starcoder2", "roberta", "llama2",
        "llama2_metaspace", "gemma", "metaspace", "t5", "xlm_roberta", "splits", "rare"}) {
    SCOPED_TRACE(name);
    const Tokenizer tokenizer = golden_tokenizer(name);
    const TokenTable& table = tokenizer.token_table();
    // A decoder may strip the space of the first token.
    const std::vector<int64_t> begin = tokenizer.encode_ids("a", {.add_special = false});
    std::mt19937 random(7);
    int count = 0;
    for (int i = 0; i < 300; i++) {
      std::vector<int64_t> ids = begin;
      std::string text = tokenizer.decode(begin);
      for (int k = 0; k < 3; k++) {
        const int64_t id = int64_t(random() % uint64_t(tokenizer.vocab_size()));
        if (table.bytes(id).empty()) continue;
        ids.push_back(id);
        text += table.bytes(id);
      }
      if (!is_utf8(text)) continue;
      count++;
      EXPECT_EQ(tokenizer.decode(ids), text);
    }
    EXPECT_GT(count, 30);
  }
}

/// A text of random tokens that the masks allow.
std::string random_text(const Grammar& grammar, const TokenTable& table, uint32_t seed,
                        size_t most) {
  std::mt19937 random(seed);
  const int64_t end_id = table.size();
  GrammarState state(grammar, table, {end_id});
  std::string text;
  for (size_t i = 0; i < most; i++) {
    const std::vector<uint32_t> words = mask_of(state, table.size() + 1);
    std::vector<int64_t> ids;
    for (int64_t id = 0; id <= end_id; id++)
      if (has_bit(words, id)) ids.push_back(id);
    const int64_t id = ids[random() % ids.size()];
    EXPECT_TRUE(state.accept(id));
    if (id == end_id) return text;
    text += table.bytes(id);
  }
  return "";
}

TEST(GrammarState, RandomTextsAreTexts) {
  const TokenTable table = pairs_table("(x)+ab");
  int count = 0;
  for (const char* gbnf : {"root ::= root \"+\" root | \"(\" root \")\" | \"x\"",
                           "root ::= (\"a\" | \"ab\" | \"bab\"){2,9} [x+]{3}",
                           "root ::= \"a\" root \"b\" root | \"x\"?"}) {
    const Grammar grammar = Grammar::gbnf(gbnf);
    for (uint32_t seed = 0; seed < 50; seed++) {
      const std::string text = random_text(grammar, table, seed, 60);
      if (text.empty()) continue;
      count++;
      EXPECT_TRUE(grammar.matches(text)) << gbnf << ": " << text;
    }
  }
  EXPECT_GT(count, 75);
}

TEST(GrammarState, MasksOfEachStateAreExact) {
  const TokenTable table = pairs_table("(x)+ab\"");
  for (const char* gbnf :
       {"root ::= root \"+\" root | \"(\" root \")\" | \"x\"",
        "root ::= (\"a\" | \"ab\" | \"bab\"){2,9} [x+]{3}",
        "root ::= \"a\" root \"b\" root | \"x\"?",
        "root ::= \"\\\"\" [^\"]{2,5} \"\\\"\" | \"(\" s{1,3} \")\"\ns ::= \"a\" t{0,2} | t\nt ::= "
        "\"b\" [x+]* \"b\""}) {
    SCOPED_TRACE(gbnf);
    const Grammar grammar = Grammar::gbnf(gbnf);
    std::mt19937 random(3);
    for (int run = 0; run < 6; run++) {
      GrammarState state(grammar, table, {table.size()});
      for (int i = 0; i < 12 && !state.has_ended(); i++) {
        expect_exact_mask(state, table, table.size());
        int64_t id;
        do id = int64_t(random() % uint64_t(table.size()));
        while (!state.accept(id));
      }
    }
  }
}

TEST(GrammarState, MasksNearTheLimitsOfACountAreExact) {
  std::vector<std::string> bytes;
  for (size_t length = 1; length <= 6; length++)
    for (const char* end : {"", "!", "!?"}) bytes.push_back(std::string(length, 'a') + end);
  bytes.push_back("!");
  bytes.push_back("?");
  const TokenTable table(bytes);
  for (const char* regex : {"a{20,40}!\\?", "(a|b){20,40}!\\?", "a{20,}!\\?", "(aa?){30,33}!\\?",
                            "a{0,50}!\\?", "a{18,20}!\\?"}) {
    SCOPED_TRACE(regex);
    GrammarState state(Grammar::regex(regex), table, {table.size()});
    for (int count = 0; count <= 60; count++) {
      expect_exact_mask(state, table, table.size());
      if (!state.accept_text("a")) break;
    }
  }
}

TEST(GrammarState, EndIdsAreAllowedWhereATextMayEnd) {
  const TokenTable table = pairs_table("ab");
  GrammarState state(Grammar::regex("a+b?"), table, {300, 301});
  EXPECT_FALSE(state.may_end());
  EXPECT_FALSE(state.accept(300));
  ASSERT_TRUE(state.accept_text("aa"));
  EXPECT_TRUE(state.may_end());
  EXPECT_FALSE(state.has_ended());
  std::vector<uint32_t> words = mask_of(state, 302);
  EXPECT_TRUE(has_bit(words, 300) && has_bit(words, 301) && has_bit(words, 'a'));
  GrammarState other = state;
  EXPECT_TRUE(other.accept(301));
  EXPECT_TRUE(other.has_ended());
  EXPECT_FALSE(other.accept('a'));
  EXPECT_FALSE(other.accept_text("a"));
  words = mask_of(other, 302);
  EXPECT_TRUE(has_bit(words, 300));
  EXPECT_FALSE(has_bit(words, 'a'));
  ASSERT_TRUE(state.accept('b'));
  EXPECT_TRUE(state.has_ended());
  words = mask_of(state, 302);
  EXPECT_TRUE(has_bit(words, 300) && !has_bit(words, 'a') && !has_bit(words, 'b'));
}

TEST(GrammarState, AnEndIdWithBytesEndsATextAllTheSame) {
  const TokenTable table = pairs_table("ab");
  GrammarState state(Grammar::regex("a\nb"), table, {'\n'});
  ASSERT_TRUE(state.accept('a'));
  EXPECT_ERROR(mask_of(state, 302), kUnsupported, "no token of the vocabulary can follow");
  EXPECT_FALSE(state.accept('\n'));
  GrammarState other(Grammar::regex("a(\nb)?"), table, {'\n'});
  ASSERT_TRUE(other.accept('a'));
  EXPECT_TRUE(has_bit(mask_of(other, 302), '\n'));
  ASSERT_TRUE(other.accept('\n'));
  EXPECT_TRUE(other.has_ended());
}

TEST(GrammarState, ARefusedTokenLeavesItAsItWas) {
  const TokenTable table = pairs_table("ab");
  GrammarState state(Grammar::regex("ab"), table);
  EXPECT_FALSE(state.accept_text("aa"));
  EXPECT_FALSE(state.accept(-1));
  EXPECT_FALSE(state.accept(table.size()));
  EXPECT_TRUE(state.accept_text("ab"));
}

TEST(GrammarState, ErrorsOfMasks) {
  GrammarState state(Grammar::regex("ab"), TokenTable({"a", "x"}), {40});
  std::vector<uint32_t> words(1);
  EXPECT_EQ(state.mask_size(), 41);
  EXPECT_ERROR(state.mask(words), kInvalidArgument, "mask: expected at least 41 bits, got 32");
  EXPECT_ERROR(GrammarState(Grammar::regex("a"), TokenTable({"a"}), {-1}), kInvalidArgument,
               "end_ids: expected ids, got -1");
  words.resize(2);
  state.mask(words);
  ASSERT_TRUE(state.accept(0));
  EXPECT_ERROR(state.mask(words), kUnsupported,
               "regex: no token of the vocabulary can follow the text");
}

TEST(GrammarState, AmbiguityBeyondReasonIsAnError) {
  // After n letters, each of the last 2^20 may have begun the count.
  GrammarState state(Grammar::regex(".*x.{1000000}"), pairs_table("x"));
  EXPECT_ERROR(
      [&] {
        for (int i = 0; i < 100000; i++) state.accept('x');
      }(),
      kUnsupported, "regex: the grammar is too ambiguous");
}

TEST(GrammarState, LongTextsKeepTheirStateWhenMemoryIsMadeFree) {
  // Each level has a list of its own, so the machine is replaced again and again.
  const TokenTable table = pairs_table("[]");
  GrammarState state(Grammar::gbnf("root ::= \"[\" (root | \"x\" root \"y\")* \"]\""), table);
  GrammarState early = state;
  ASSERT_TRUE(early.accept('['));
  const int depth = 150000;
  for (int i = 0; i < depth; i++) ASSERT_TRUE(state.accept('['));
  expect_exact_mask(state, table, table.size() + 1);
  for (int i = 0; i < depth; i++) {
    ASSERT_FALSE(state.may_end());
    ASSERT_TRUE(state.accept(']'));
  }
  EXPECT_TRUE(state.has_ended());
  ASSERT_TRUE(early.accept(']'));
  EXPECT_TRUE(early.has_ended());
}

TEST(GrammarState, ThreadsShareAGrammar) {
  const TokenTable table = pairs_table("[]\"{a:, 1");
  const Grammar grammar = Grammar::json_object();
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; i++)
    threads.emplace_back([&, i] {
      for (uint32_t seed = 0; texts[i].empty() && seed < 1000; seed++)
        texts[i] = random_text(grammar, table, i * 1000 + seed, 20);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_TRUE(grammar.matches(text)) << text;
}

}  // namespace
}  // namespace wick
