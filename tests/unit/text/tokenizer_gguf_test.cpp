#include "text/tokenizer/rules.h"

#include "../expect.h"
#include "text/tokenizer/byte_alphabet.h"

namespace wick {
namespace {

const std::string kKey = "tokenizer.ggml.";

/// The metadata of a byte-level vocabulary: the 256 letters, what the merges give, then `more`.
Settings byte_level(const std::string& pre, const std::vector<std::string>& merges,
                    const std::vector<std::pair<std::string, int>>& more = {}) {
  Setting::List tokens, types, lines;
  const auto add = [&](std::string text, int type) {
    tokens.push_back(std::move(text));
    types.push_back(type);
  };
  for (int byte = 0; byte < 256; byte++)
    add(std::string(tokenization::letter_of(uint8_t(byte))), 1);
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    add(merge.substr(0, space) + merge.substr(space + 1), 1);
    lines.push_back(merge);
  }
  for (const auto& [text, type] : more) add(text, type);
  Settings metadata("m.gguf");
  metadata.set(kKey + "model", "gpt2");
  metadata.set(kKey + "pre", pre);
  metadata.set(kKey + "tokens", tokens);
  metadata.set(kKey + "token_type", types);
  metadata.set(kKey + "merges", lines);
  return metadata;
}

using Ids = std::vector<int64_t>;

TEST(TokenizerGguf, MergesByRankAndThenFromTheLeft) {
  const Tokenizer t = Tokenizer::from_gguf(byte_level("gpt-2", {"a b", "b c", "ab c", "a a"}));
  EXPECT_EQ(t.encode_ids("abc"), (Ids{258}));
  EXPECT_EQ(t.encode_ids("bcabc"), (Ids{257, 258}));
  EXPECT_EQ(t.encode_ids("aaa"), (Ids{259, 'a'}));
  EXPECT_EQ(t.encode_ids("aab"), (Ids{'a', 256}));
  EXPECT_EQ(t.encode_ids(""), Ids{});
}

TEST(TokenizerGguf, WordsDoNotMergeWithEachOther) {
  const Tokenizer t = Tokenizer::from_gguf(byte_level("gpt-2", {"a \u0120", "\u0120 a"}));
  EXPECT_EQ(t.encode_ids("a a"), (Ids{'a', 257}));
}

TEST(TokenizerGguf, EachPreCutsAsLlamaCppDoes) {
  struct Row {
    const char *pre, *text;
    std::vector<std::string> words;
  };
  // The words of a vocabulary without merges are the runs that a merge of all pairs would make;
  // here, where two bytes of one word are one token.
  const std::vector<Row> rows = {
      {"gpt-2", "11 11", {"11", " 11"}},
      {"smollm", "11 11", {"1", "1", " ", "1", "1"}},
      {"llama-bpe", "1111 1", {"111", "1", " ", "1"}},
      {"smaug-bpe", "1111 1", {"111", "1", " ", "1"}},
      {"qwen2", "11 'RE", {"1", "1", " '", "RE"}},
      {"default", "11a$$ a", {"11", "a", "$$", " a"}},
      {"tekken", "helloWorldHELLO", {"hello", "World", "HELLO"}},
      {"qwen35", "e\u0301e 1", {"e\u0301e", " ", "1"}},
      {"falcon", "1111", {"111", "1"}},
  };
  for (const Row& row : rows) {
    const auto rules = tokenization::read_gguf(byte_level(row.pre, {"a b"}));
    tokenization::Pieces all = tokenization::pieces_of(row.text, false);
    for (const auto& step : rules->pre_tokenizers) step->apply(all);
    std::vector<std::string> words;
    for (const auto& piece : all.pieces) words.emplace_back(all.of(piece));
    EXPECT_EQ(words, row.words) << row.pre;
  }
}

TEST(TokenizerGguf, SpecialTokensInTheTextBecomeIdsIfAsked) {
  const Tokenizer t = Tokenizer::from_gguf(
      byte_level("gpt-2", {"a b"}, {{"<|im_end|>", 3}, {"<tool>", 4}, {"<unk>", 2}}));
  EXPECT_EQ(t.encode_ids("ab<|im_end|><tool>b"), (Ids{256, 257, 258, 'b'}));
  // User-defined tokens are always cut out, special ones are text without parse_special.
  EXPECT_EQ(t.encode_ids("<tool><unk>", {.parse_special = false}),
            (Ids{258, '<', 'u', 'n', 'k', '>'}));
  EXPECT_TRUE(t.is_special(257));
  EXPECT_FALSE(t.is_special(258));
  EXPECT_EQ(t.decode(Ids{257, 258, 256}), "<|im_end|><tool>ab");
  EXPECT_EQ(t.decode(Ids{257, 258, 256}, true), "<tool>ab");
}

TEST(TokenizerGguf, OfOverlappingSpecialTokensTheLongestWins) {
  const Tokenizer t = Tokenizer::from_gguf(byte_level("gpt-2", {"a b"}, {{"<x>", 3}, {"x>yz", 3}}));
  EXPECT_EQ(t.encode_ids("<x>yz<x>"), (Ids{'<', 258, 257}));
}

TEST(TokenizerGguf, TokensOfKnownTextsAreSpecialWhateverTheirType) {
  const Tokenizer t =
      Tokenizer::from_gguf(byte_level("gpt-2", {"a b"}, {{"<|eot_id|>", 1}, {"<|start|>", 3}}));
  EXPECT_TRUE(t.is_special(257));
  EXPECT_FALSE(t.is_special(258));
}

TEST(TokenizerGguf, BosAndEosFollowTheFile) {
  Settings metadata = byte_level("gpt-2", {"a b"}, {{"<s>", 3}, {"</s>", 3}});
  metadata.set(kKey + "bos_token_id", 257).set(kKey + "eos_token_id", 258);
  EXPECT_EQ(Tokenizer::from_gguf(metadata).encode_ids("ab"), (Ids{256}));
  EXPECT_EQ(Tokenizer::from_gguf(metadata).bos(), 257);
  EXPECT_EQ(Tokenizer::from_gguf(metadata).eos(), 258);
  metadata.set(kKey + "add_bos_token", true).set(kKey + "add_eos_token", true);
  const Tokenizer t = Tokenizer::from_gguf(metadata);
  EXPECT_EQ(t.encode_ids("ab"), (Ids{257, 256, 258}));
  EXPECT_EQ(t.encode_ids("ab", {.add_end = false}), (Ids{257, 256}));
  EXPECT_EQ(t.encode_ids("ab", {.add_special = false}), (Ids{256}));
  metadata.set(kKey + "pre", "llama-bpe").set(kKey + "add_bos_token", nullptr);
  EXPECT_EQ(Tokenizer::from_gguf(metadata).encode_ids("ab"), (Ids{257, 256, 258}));
}

TEST(TokenizerGguf, LlamaBpeTakesAWordThatIsATokenWhole) {
  Settings metadata = byte_level("llama-bpe", {"a b"}, {{"abab", 1}, {"<s>", 3}});
  metadata.set(kKey + "bos_token_id", 258).set(kKey + "add_bos_token", false);
  EXPECT_EQ(Tokenizer::from_gguf(metadata).encode_ids("abab"), (Ids{257}));
  metadata.set(kKey + "pre", "smaug-bpe");
  EXPECT_EQ(Tokenizer::from_gguf(metadata).encode_ids("abab"), (Ids{256, 256}));
}

TEST(TokenizerGguf, OffsetsCountCodePointsOfWholeCharacters) {
  const Tokenizer t = Tokenizer::from_gguf(byte_level("gpt-2", {"\u00c3 \u00a9"}));
  const Encoding e = t.encode("\u00e9\u00ea\xffx");
  EXPECT_EQ(e.tokens, (std::vector<std::string>{"\u00c3\u00a9", "\u00c3", "\u00aa", "\u00ef",
                                                "\u00bf", "\u00bd", "x"}));
  EXPECT_EQ(e.offsets, (std::vector<std::pair<int64_t, int64_t>>{
                           {0, 1}, {1, 2}, {1, 2}, {2, 3}, {2, 3}, {2, 3}, {3, 4}}));
}

TEST(TokenizerGguf, AMergeThatGivesNoTokenEndsInTokensOfItsBytes) {
  Settings metadata = byte_level("gpt-2", {"a b"});
  metadata.set(kKey + "merges", Setting::List{"a b", "ab c", "x y"});
  const Tokenizer t = Tokenizer::from_gguf(metadata);
  EXPECT_EQ(t.encode_ids("abcxy"), (Ids{'a', 'b', 'c', 'x', 'y'}));
}

TEST(TokenizerGguf, FilesItDoesNotServeAreErrorsThatNameThem) {
  Settings metadata = byte_level("gpt-2", {"a b"});
  EXPECT_ERROR(Tokenizer::from_gguf(Settings(metadata).set(kKey + "model", "bert")), kUnsupported,
               "m.gguf: \"tokenizer.ggml.model\": wick has no tokenizer \"bert\"");
  EXPECT_ERROR(
      Tokenizer::from_gguf(Settings(metadata).set(kKey + "pre", "no-such")), kUnsupported,
      "m.gguf: \"tokenizer.ggml.pre\": wick has no rules for \"no-such\"; --tokenizer-pre NAME");
  EXPECT_ERROR(Tokenizer::from_gguf(metadata, "no-such"), kInvalidArgument,
               "tokenizer_pre: wick has no rules for \"no-such\"");
  EXPECT_ERROR(Tokenizer::from_gguf(Settings(metadata).set(kKey + "tokens", Setting::List{})),
               kFormat, "\"tokenizer.ggml.tokens\": expected a vocabulary");
  EXPECT_ERROR(
      Tokenizer::from_gguf(Settings(metadata).set(kKey + "tokens", Setting::List{"a", "a"})),
      kFormat, "token 1 repeats \"a\"");
  EXPECT_ERROR(Tokenizer::from_gguf(Settings(metadata).set(kKey + "token_type", Setting::List{1})),
               kFormat, "\"tokenizer.ggml.token_type\": expected 257 values, got 1");
  EXPECT_ERROR(Tokenizer::from_gguf(Settings(metadata).set(kKey + "merges", nullptr)), kFormat,
               "\"tokenizer.ggml.merges\" is missing");
  EXPECT_ERROR(Tokenizer::from_gguf(Settings("m.gguf")), kFormat, "tokenizer.ggml.model");
}

TEST(TokenStream, GivesWholeCharactersOnly) {
  const Tokenizer t = Tokenizer::from_gguf(byte_level("gpt-2", {"a b"}));
  TokenStream stream(t);
  std::vector<std::string> parts;
  for (const int64_t id : t.encode_ids("a\U0001f600\u00e9")) parts.push_back(stream.push(id));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "", "", "\U0001f600", "", "\u00e9"}));
  EXPECT_EQ(stream.finish(), "");
  const Ids cut = t.encode_ids("\U0001f600");
  EXPECT_EQ(stream.push(cut[0]), "");
  EXPECT_EQ(stream.push(cut[1]), "");
  EXPECT_EQ(stream.push('a'), "\uFFFDa");
  EXPECT_EQ(stream.push(cut[0]), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(-1) + stream.push(100000), "");
}

TEST(TokenizerGguf, AFileWithoutPreTokenizerGetsTheDefaultAndAWarning) {
  const std::vector<std::string> merges = {"1 2", "12 3", "123 4"};
  for (const Setting& missing : {Setting(nullptr), Setting("")}) {
    const Settings metadata = Settings(byte_level("", merges)).set(kKey + "pre", missing);
    const Tokenizer t = Tokenizer::from_gguf(metadata);
    ASSERT_EQ(t.warnings().size(), 1u);
    EXPECT_NE(t.warnings()[0].find("m.gguf: \"tokenizer.ggml.pre\" is missing"), std::string::npos)
        << t.warnings()[0];
    EXPECT_EQ(t.encode_ids("1234"),
              Tokenizer::from_gguf(byte_level("default", merges)).encode_ids("1234"));
    const Tokenizer chosen = Tokenizer::from_gguf(metadata, "gpt-2");
    EXPECT_TRUE(chosen.warnings().empty());
    EXPECT_EQ(chosen.encode_ids("1234"), (Ids{258}));
    EXPECT_NE(chosen.encode_ids("1234"), t.encode_ids("1234"));
  }
  EXPECT_EQ(Tokenizer::from_gguf(byte_level("no-such", merges), "gpt-2").encode_ids("1234"),
            (Ids{258}));
}

TEST(TokenizerGguf, KimiK2NeedsNoMerges) {
  const Settings metadata = Settings(byte_level("kimi-k2", {"a b"})).set(kKey + "merges", nullptr);
  EXPECT_EQ(Tokenizer::from_gguf(metadata).encode_ids("ab").size(), 2u);
}

TEST(TokenizerGguf, TokensOfCharactersDecodeWithoutTheByteAlphabet) {
  Settings metadata("m.gguf");
  const std::string mark = "\u2581";
  metadata.set(kKey + "model", "gemma4");
  metadata.set(kKey + "tokens", Setting::List{"<bos>", "\u00e9", mark, mark + "a", "a", "\n",
                                              "\n\n", "<0xC3>", "<0xBC>"});
  metadata.set(kKey + "token_type", Setting::List{3, 1, 1, 1, 1, 1, 1, 6, 6});
  metadata.set(kKey + "merges", Setting::List{mark + " a"}).set(kKey + "bos_token_id", 0);
  metadata.set(kKey + "add_bos_token", false);  // Gemma 4's files say so by mistake
  const Tokenizer t = Tokenizer::from_gguf(metadata);
  EXPECT_EQ(t.encode_ids("\u00e9 a\n\n\u00fc"), (Ids{0, 1, 3, 6, 7, 8}));
  EXPECT_EQ(t.decode(Ids{1, 3, 6, 7, 8}), "\u00e9 a\n\n\u00fc");
}

}  // namespace
}  // namespace wick
