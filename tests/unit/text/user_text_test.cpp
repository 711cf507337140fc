// EncodeOptions::user: text of users never becomes a special token, and harmless text has the same
// ids as without it.
#include <algorithm>

#include "../expect.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

using Ids = std::vector<int64_t>;
using Texts = std::vector<std::string>;

const std::string kFolder = std::string(WICK_GOLDEN) + "/tokenizers/";

Tokenizer golden_tokenizer(const std::string& name) {
  const Settings file = read_json(kFolder + name + ".json");
  return file.has("tokenizer.ggml.model") ? Tokenizer::from_gguf(file) : Tokenizer::from_json(file);
}

Texts golden_texts() {
  Settings file("texts.json");
  file.set("texts", read_json_value(kFolder + "texts.json"));
  return file.texts("texts");
}

/// The texts of all special tokens but those for unknown characters, which any text may have.
Texts special_texts(const Tokenizer& tokenizer) {
  Texts texts;
  for (int64_t id = 0; id < tokenizer.vocab_size(); id++)
    if (tokenizer.is_special(id) && tokenizer.token(id) != "<unk>")
      texts.push_back(tokenizer.token(id));
  return texts;
}

Ids specials_of(const Tokenizer& tokenizer, const Ids& ids) {
  Ids found;
  for (const int64_t id : ids)
    if (tokenizer.is_special(id) && tokenizer.token(id) != "<unk>") found.push_back(id);
  return found;
}

/// The ids of before + text + after, where text comes from users.
Ids ids_of(const Tokenizer& tokenizer, const std::string& before, const std::string& text,
           const std::string& after) {
  const int64_t begin = int64_t(before.size()), end = begin + int64_t(text.size());
  const EncodeOptions options{.add_special = false, .user = {{begin, end}}};
  const Ids ids = tokenizer.encode_ids(before + text + after, options);
  EXPECT_EQ(tokenizer.encode(before + text + after, options).ids, ids);
  return ids;
}

class UserText : public testing::TestWithParam<const char*> {};

TEST_P(UserText, NeverBecomesASpecialToken) {
  const Tokenizer tokenizer = golden_tokenizer(GetParam());
  const Texts specials = special_texts(tokenizer);
  ASSERT_FALSE(specials.empty());
  std::string all;
  for (const std::string& special : specials) all += special + " " + special;
  for (const std::string& around : specials)
    for (const std::string& text : Texts{all, specials[0], "a" + all + "\n", " " + all + "é"}) {
      SCOPED_TRACE(around + " around " + text);
      const Ids bare = tokenizer.encode_ids(around + around, {.add_special = false});
      EXPECT_EQ(specials_of(tokenizer, ids_of(tokenizer, around, text, around)),
                specials_of(tokenizer, bare));
      EXPECT_EQ(specials_of(tokenizer, ids_of(tokenizer, "", text, "")), Ids());
    }
}

TEST_P(UserText, HarmlessHasTheIdsOfTheWholeText) {
  const Tokenizer tokenizer = golden_tokenizer(GetParam());
  const Texts specials = special_texts(tokenizer);
  int count = 0;
  for (const std::string& text : golden_texts()) {
    const Ids found = tokenizer.encode_ids(text, {.add_special = false});
    const bool is_harmless =
        text.find("<unk>") == text.npos &&
        found == tokenizer.encode_ids(text, {.add_special = false, .parse_special = false});
    if (!is_harmless) continue;
    count++;
    for (const std::string& before : Texts{"", specials[0], specials.back() + "user\n"})
      for (const std::string& after : Texts{"", "\n" + specials[0], "a b"})
        EXPECT_EQ(ids_of(tokenizer, before, text, after),
                  tokenizer.encode_ids(before + text + after, {.add_special = false}))
            << before << text << after;
  }
  EXPECT_GT(count, 15);
}

INSTANTIATE_TEST_SUITE_P(Golden, UserText,
                         testing::Values("added", "clip", "gemma", "gpt2", "gguf_gpt2",
                                         "gguf_llama", "llama2", "llama3", "metaspace", "qwen2",
                                         "roberta", "siglip2", "siglip_json", "starcoder2", "t5",
                                         "tekken", "words", "xlm_roberta"));

TEST(UserTexts, ATokenThatTouchesAPartIsText) {
  Settings file = byte_tokenizer_json();
  Setting::List added;
  for (const char* text : {"<s>", "<|end|>", "<tool>"})
    added.push_back(Settings()
                        .set("id", 256 + int64_t(added.size()))
                        .set("content", text)
                        .set("special", *text == '<' && text[1] != 't')
                        .set("normalized", false));
  const Tokenizer t = Tokenizer::from_json(file.set("added_tokens", added));
  const auto ids = [&](const std::string& text, std::vector<ByteRange> user) {
    std::string shown;
    for (const int64_t id : t.encode_ids(text, {.user = std::move(user)}))
      shown += id < 256 ? std::string(1, char(id)) : "(" + t.token(id) + ")";
    return shown;
  };
  EXPECT_EQ(ids("<s><s>", {}), "(<s>)(<s>)");
  EXPECT_EQ(ids("<s><s>", {{3, 6}}), "(<s>)<s>");
  EXPECT_EQ(ids("<s><s>", {{2, 4}}), "<s><s>");
  EXPECT_EQ(ids("<s><s>", {{0, 1}, {6, 6}}), "<s>(<s>)");
  EXPECT_EQ(ids("<|end|>", {{2, 5}}), "<|end|>");  // "<|", a text of users, "|>"
  EXPECT_EQ(ids("<|end|>", {{0, 0}, {7, 7}}), "(<|end|>)");
  EXPECT_EQ(ids("<tool><s>", {{0, 9}}), "(<tool>)<s>");  // an added token that is not special
  EXPECT_EQ(t.encode_ids("<s>", {.parse_special = false, .user = {{0, 3}}}), (Ids{'<', 's', '>'}));
  for (const std::vector<ByteRange>& bad :
       {std::vector<ByteRange>{{0, 4}}, {{2, 1}}, {{-1, 1}}, {{1, 2}, {0, 1}}})
    EXPECT_ERROR(t.encode_ids("<s>", {.user = bad}), kInvalidArgument, "user: expected parts");
}

TEST(UserTexts, PartsOfInvalidUtf8Move) {
  Settings file = byte_tokenizer_json();
  const Setting added =
      Settings().set("id", 256).set("content", "<s>").set("special", true).set("normalized", false);
  const Tokenizer t = Tokenizer::from_json(file.set("added_tokens", Setting::List{added}));
  // Each bad byte becomes three; a cut character of two bytes becomes three.
  const std::string text = "\xff<s>\xf0\x9f<s>\xff\xff<s>";
  const auto specials = [&](ByteRange user) {
    const Ids ids = t.encode_ids(text, {.user = {user}});
    std::vector<size_t> places;
    for (size_t i = 0; i < ids.size(); i++)
      if (ids[i] == 256) places.push_back(i);
    return places;
  };
  using Places = std::vector<size_t>;
  EXPECT_EQ(specials({0, 1}), (Places{3, 7, 14}));
  EXPECT_EQ(specials({1, 4}), (Places{9, 16}));
  EXPECT_EQ(specials({4, 6}), (Places{3, 7, 14}));
  EXPECT_EQ(specials({5, 7}), (Places{3, 16}));
  EXPECT_EQ(specials({9, 11}), (Places{3, 7, 14}));
  EXPECT_EQ(specials({11, 14}), (Places{3, 7}));
  EXPECT_EQ(specials({0, 14}), Places());
}

TEST(UserTexts, AModelThatMergesToASpecialTokenDoesWithoutIt) {
  // SentencePiece's BPE merges any two tokens whose joined text is one.
  const std::string key = "tokenizer.ggml.";
  Settings metadata("m.gguf");
  metadata.set(key + "model", "llama").set(key + "add_bos_token", false);
  metadata.set(key + "add_space_prefix", false);
  metadata.set(key + "tokens", Setting::List{"<unk>", "<s>", "<", "s", ">", "<s", "a"});
  metadata.set(key + "scores", Setting::List{0, 0, -3, -3, -3, -2, -3});
  metadata.set(key + "token_type", Setting::List{2, 3, 1, 1, 1, 1, 1});
  const Tokenizer bpe = Tokenizer::from_gguf(metadata);
  EXPECT_EQ(bpe.encode_ids("<s>a", {.parse_special = false}), (Ids{1, 6}));
  EXPECT_EQ(bpe.encode_ids("<s>a", {.user = {{0, 4}}}), (Ids{5, 4, 6}));
  EXPECT_EQ(bpe.encode_ids("<s>é", {.user = {{3, 5}}}), (Ids{1, 0}));

  // HuggingFace's Unigram splits a word into special tokens too.
  const Tokenizer unigram = Tokenizer::from_json(parse_json(
      R"({"added_tokens": [{"id": 1, "content": "<s>", "special": true, "normalized": false}],
          "model": {"type": "Unigram", "unk_id": 0,
                    "vocab": [["?", -9], ["<s>", 0], ["<", -1], ["s", -1], [">", -1]]}})",
      "tokenizer.json"));
  EXPECT_EQ(unigram.encode_ids("<s>", {.parse_special = false}), (Ids{1}));
  EXPECT_EQ(unigram.encode_ids("<s>", {.user = {{0, 3}}}), (Ids{2, 3, 4}));
  EXPECT_EQ(unigram.encode_ids("<s>é<s>", {.user = {{3, 8}}}), (Ids{1, 0, 2, 3, 4}));

  // Llama 3's BPE takes a word that is a token whole.
  const Tokenizer whole = Tokenizer::from_json(parse_json(
      R"({"added_tokens": [{"id": 0, "content": "ab", "special": true, "normalized": false}],
          "model": {"type": "BPE", "ignore_merges": true,
                    "vocab": {"ab": 0, "a": 1, "b": 2}, "merges": []}})",
      "tokenizer.json"));
  EXPECT_EQ(whole.encode_ids("ab", {.parse_special = false}), (Ids{0}));
  EXPECT_EQ(whole.encode_ids("ab", {.user = {{0, 1}}}), (Ids{1, 2}));
}

TEST(UserTexts, AControlTokenThatLlamaCppReadsInAnyTextIsTextOfUsers) {
  Setting::List tokens, types;
  for (int byte = 0; byte < 256; byte++) {
    tokens.push_back(std::string(tokenization::letter_of(uint8_t(byte))));
    types.push_back(1);
  }
  tokens.push_back("<|start|>"), types.push_back(3);  // llama.cpp makes it user-defined
  tokens.push_back("<|mine|>"), types.push_back(4);
  Settings metadata("m.gguf");
  metadata.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "gpt-2");
  metadata.set("tokenizer.ggml.tokens", tokens).set("tokenizer.ggml.token_type", types);
  metadata.set("tokenizer.ggml.merges", Setting::List{"a b"});
  const Tokenizer t = Tokenizer::from_gguf(metadata);
  EXPECT_EQ(t.encode_ids("<|start|>", {.parse_special = false}), (Ids{256}));
  EXPECT_EQ(t.encode_ids("<|start|>", {.user = {{0, 9}}}).size(), 9u);
  EXPECT_EQ(t.encode_ids("<|mine|>", {.user = {{0, 8}}}), (Ids{257}));
}

}  // namespace
}  // namespace wick
