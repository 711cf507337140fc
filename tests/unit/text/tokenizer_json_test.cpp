#include <thread>

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

using Ids = std::vector<int64_t>;

const char* const kModel =
    R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<s>": 5}, "merges": ["a b"]})";

Settings file(const std::string& parts) {
  return parse_json("{" + std::string(kModel) + (parts.empty() ? "" : ", ") + parts + "}",
                    "tokenizer.json");
}

TEST(TokenizerJson, AddedTokensGetTheModelsIdOrTheNextOne) {
  const Tokenizer t =
      Tokenizer::from_json(file(R"("added_tokens": [{"id": 77, "content": "<s>", "special": true},
                               {"id": 78, "content": "<x>"}])"));
  EXPECT_EQ(t.id_of("<s>"), 5);
  EXPECT_EQ(t.id_of("<x>"), 4);  // HuggingFace counts the tokens, not the ids
  EXPECT_EQ(t.id_of("c"), std::nullopt);
  EXPECT_EQ(t.vocab_size(), 6);
  EXPECT_EQ(t.token(4), "<x>");
  EXPECT_EQ(t.token(3), "");
  EXPECT_EQ(t.token(-1), "");
  EXPECT_TRUE(t.is_special(5));
  EXPECT_FALSE(t.is_special(4));
  EXPECT_FALSE(t.is_special(99));
  EXPECT_EQ(t.encode_ids("ab<x><s>"), (Ids{2, 4, 5}));
  EXPECT_EQ(t.decode(Ids{2, 3, 99, -1, 5}), "ab <s>");
  EXPECT_EQ(t.bos(), std::nullopt);
}

TEST(TokenizerJson, BosAndEosAreThoseOfThePostProcessor) {
  const Tokenizer t = Tokenizer::from_json(file(R"("post_processor": {"type": "TemplateProcessing",
               "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                          {"Sequence": {"id": "A", "type_id": 0}},
                          {"SpecialToken": {"id": "e", "type_id": 0}}], "pair": [],
               "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]},
                                  "e": {"id": "e", "ids": [0, 1], "tokens": ["a", "b"]}}})"));
  EXPECT_EQ(t.bos(), 5);
  EXPECT_EQ(t.eos(), 1);
  EXPECT_EQ(t.encode_ids("ab"), (Ids{5, 2, 0, 1}));
  EXPECT_EQ(t.encode("ab").offsets,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {0, 2}, {0, 0}, {0, 0}}));
  EXPECT_EQ(t.encode_ids("ab", {.add_end = false}), (Ids{5, 2}));
  EXPECT_EQ(t.encode("ab", {.add_end = false}).ids, (Ids{5, 2}));
}

TEST(TokenizerJson, PartsThatItLacksAreErrorsThatNameThem) {
  struct Row {
    const char* parts;
    ErrorCode code;
    const char* text;
  };
  const std::vector<Row> rows = {
      {R"("normalizer": {"type": "Precompiled"})", ErrorCode::kFormat,
       R"(tokenizer.json: "normalizer": "precompiled_charsmap": expected)"},
      {R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA"})",
       ErrorCode::kFormat, R"("precompiled_charsmap": expected base64)"},
      {R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"})",
       ErrorCode::kFormat, "the normalizer's double array does not fit"},
      {R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "BertNormalizer"}]})",
       ErrorCode::kUnsupported, R"(wick has no normalizer "BertNormalizer")"},
      {R"("pre_tokenizer": {"type": "UnicodeScripts"})", ErrorCode::kUnsupported,
       R"("pre_tokenizer": wick has no pre-tokenizer "UnicodeScripts")"},
      {R"("post_processor": {"type": "Other"})", ErrorCode::kUnsupported,
       R"(wick has no post-processor "Other")"},
      {R"("decoder": {"type": "WordPiece"})", ErrorCode::kUnsupported,
       R"("decoder": wick has no decoder "WordPiece")"},
      {R"("version": "2.0")", ErrorCode::kUnsupported, R"("version": expected "1.0", got "2.0")"},
      {R"("normalizer": {"prepend": "x"})", ErrorCode::kFormat, R"("type")"},
      {R"("normalizer": {"type": "Strip", "strip_left": true})", ErrorCode::kFormat,
       R"("strip_right": expected true or false)"},
      {R"("normalizer": {"type": "Sequence"})", ErrorCode::kFormat,
       R"("normalizers": expected a list of objects)"},
      {R"("normalizer": {"type": "Sequence", "normalizers": [1]})", ErrorCode::kFormat,
       "expected a list of objects"},
      {R"("normalizer": {"type": "Replace", "pattern": "x", "content": ""})", ErrorCode::kFormat,
       "\"pattern\": expected"},
      {R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "invert": false,
           "behavior": "Isolated"})",
       ErrorCode::kUnsupported, R"(pattern "(")"},
      {R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "x"}, "invert": false,
           "behavior": "Joined"})",
       ErrorCode::kFormat, "\"behavior\": expected one of Removed, Isolated"},
      {R"("pre_tokenizer": {"type": "FixedLength", "length": 0})", ErrorCode::kFormat,
       "\"length\""},
      {R"("pre_tokenizer": {"type": "Metaspace", "replacement": "xy"})", ErrorCode::kFormat,
       "\"replacement\": expected one character"},
      {R"("post_processor": {"type": "BertProcessing", "sep": ["</s>", 9], "cls": ["<s>", 5]})",
       ErrorCode::kFormat, "expected a token and its id in the vocabulary"},
      {R"("post_processor": {"type": "TemplateProcessing", "single": [], "special_tokens": {}})",
       ErrorCode::kUnsupported, "wick has templates with one $A only"},
      {R"("added_tokens": {})", ErrorCode::kFormat, "\"added_tokens\": expected a list of objects"},
      {R"("added_tokens": [{"id": 1}])", ErrorCode::kFormat, "\"content\""},
  };
  for (const Row& row : rows) {
    try {
      Tokenizer::from_json(file(row.parts));
      ADD_FAILURE() << row.parts;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), row.code) << e.what();
      EXPECT_NE(std::string(e.what()).find(row.text), std::string::npos) << e.what();
    }
  }
}

TEST(TokenizerJson, AModelThatIsNoneOrAnotherKindIsAnError) {
  struct Row {
    const char* model;
    ErrorCode code;
    const char* text;
  };
  const std::vector<Row> rows = {
      {R"({"type": "WordLevel", "vocab": {}})", ErrorCode::kUnsupported,
       R"("model": wick has no model "WordLevel")"},
      {R"({"type": "Unigram", "vocab": {}})", ErrorCode::kFormat, "\"vocab\": expected a list"},
      {R"({"type": "Unigram", "vocab": [["a"]]})", ErrorCode::kFormat,
       "lists of a token and its score"},
      {R"({"type": "Unigram", "vocab": [["a", "x"]]})", ErrorCode::kFormat,
       "\"vocab\": expected a"},
      {R"({"type": "Unigram", "vocab": [["a", 0], ["a", 1]]})", ErrorCode::kFormat,
       "two tokens are \"a\""},
      {R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})", ErrorCode::kFormat,
       "\"unk_id\": expected an id of the vocabulary"},
      {R"({"type": "BPE", "merges": []})", ErrorCode::kFormat, "\"vocab\""},
      {R"({"type": "BPE", "vocab": {}})", ErrorCode::kFormat, "\"merges\""},
      {R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})", ErrorCode::kFormat,
       "\"a\": expected an id from 0"},
      {R"({"type": "BPE", "vocab": {"a": 2000000000}, "merges": []})", ErrorCode::kFormat,
       "\"a\": expected an id from 0"},
      {R"({"type": "BPE", "vocab": {"a": "x"}, "merges": []})", ErrorCode::kFormat, "\"a\""},
      {R"({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []})", ErrorCode::kFormat,
       "another token has the id 0"},
      {R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})", ErrorCode::kFormat,
       R"(the vocabulary has no token "b")"},
      {R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})", ErrorCode::kFormat,
       "two tokens with a space between them"},
      {R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]})", ErrorCode::kFormat,
       "lists of two tokens"},
  };
  for (const Row& row : rows) {
    try {
      Tokenizer::from_json(parse_json("{\"model\": " + std::string(row.model) + "}", "f"));
      ADD_FAILURE() << row.model;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), row.code) << e.what();
      EXPECT_NE(std::string(e.what()).find(row.text), std::string::npos) << e.what();
    }
  }
  EXPECT_ERROR(Tokenizer::from_json(parse_json("{}", "f")), kFormat, "f: \"model\"");
}

TEST(TokenizerJson, NestingHasALimit) {
  Settings part("n");
  part.set("type", "NFC");
  for (int i = 0; i < 40; i++) {
    Settings outer("n");
    outer.set("type", "Sequence").set("normalizers", Setting::List{part});
    part = outer;
  }
  EXPECT_ERROR(Tokenizer::from_json(file("").set("normalizer", part)), kFormat,
               "Sequences are nested deeper than 32");
}

TEST(TokenizerJson, SeveralThreadsShareATokenizer) {
  const Tokenizer t = Tokenizer::from_json(file(R"("pre_tokenizer": {"type": "WhitespaceSplit"})"));
  std::string text;
  for (int i = 0; i < 2000; i++) text += i % 3 ? " ab" : " aab";
  const Ids expected = t.encode_ids(text);
  std::vector<Ids> got(4);
  std::vector<std::thread> threads;
  for (Ids& ids : got)
    threads.emplace_back([&text, &ids, copy = t] {
      for (int i = 0; i < 5; i++) ids = copy.encode_ids(text);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : got) EXPECT_EQ(ids, expected);
}

}  // namespace
}  // namespace wick
