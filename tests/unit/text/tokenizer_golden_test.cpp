// Tokenizers held to HuggingFace's tokenizers and to llama.cpp: tests/golden/tokenizers.
#include "../expect.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

const std::string kFolder = std::string(WICK_GOLDEN) + "/tokenizers/";

std::vector<std::string> texts() {
  Settings file("texts.json");
  file.set("texts", read_json_value(kFolder + "texts.json"));
  return file.texts("texts");
}

std::vector<Settings> objects(const Setting& list) {
  std::vector<Settings> result;
  for (const Setting& item : std::get<Setting::List>(list.value))
    result.push_back(std::get<Settings>(item.value));
  return result;
}

std::vector<int64_t> flat(const std::vector<std::pair<int64_t, int64_t>>& offsets) {
  std::vector<int64_t> result;
  for (const auto& [begin, end] : offsets) result.insert(result.end(), {begin, end});
  return result;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  TokenStream stream(tokenizer);
  std::string text;
  for (const int64_t id : ids) text += stream.push(id);
  return text + stream.finish();
}

class LikeHuggingFace : public testing::TestWithParam<const char*> {};

TEST_P(LikeHuggingFace, IdsTokensOffsetsAndText) {
  const std::string name = GetParam();
  const Tokenizer tokenizer = Tokenizer::from_json(read_json(kFolder + name + ".json"));
  const std::vector<std::string> inputs = texts();
  const std::vector<Settings> rows = objects(read_json_value(kFolder + name + ".expected.json"));
  ASSERT_EQ(rows.size(), inputs.size());
  for (size_t i = 0; i < rows.size(); i++) {
    SCOPED_TRACE(inputs[i]);
    const Settings& row = rows[i];
    const std::vector<int64_t> ids = row.integers("ids");
    const Encoding encoding = tokenizer.encode(inputs[i]);
    EXPECT_EQ(encoding.ids, ids);
    EXPECT_EQ(flat(encoding.offsets), row.integers("offsets"));
    std::vector<std::string> tokens;
    for (const int64_t id : ids) tokens.push_back(tokenizer.token(id));
    EXPECT_EQ(encoding.tokens, row.has("tokens") ? row.texts("tokens") : tokens);

    EXPECT_EQ(tokenizer.encode_ids(inputs[i]), ids);
    const std::vector<int64_t> bare = row.has("bare") ? row.integers("bare") : ids;
    EXPECT_EQ(tokenizer.encode_ids(inputs[i], {.add_special = false}), bare);
    EXPECT_EQ(tokenizer.encode_ids(inputs[i], {.add_special = false, .parse_special = false}),
              row.has("special_as_text") ? row.integers("special_as_text") : bare);

    const std::string text = row.text("decoded");
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_EQ(tokenizer.decode(ids, true), row.has("skipped") ? row.text("skipped") : text);
    EXPECT_EQ(streamed(tokenizer, ids), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, LikeHuggingFace,
                         testing::Values("added", "clip", "gemma", "gpt2", "llama2",
                                         "llama2_metaspace", "llama3", "llama4", "metaspace",
                                         "qwen2", "rare", "roberta", "siglip2", "siglip_json",
                                         "splits", "starcoder2", "t5", "tekken", "words",
                                         "xlm_roberta"),
                         [](const auto& info) { return std::string(info.param); });

std::vector<std::vector<int64_t>> id_lists(const Settings& row, const char* key) {
  std::vector<std::vector<int64_t>> result;
  for (const Setting& ids : std::get<Setting::List>(row.find(key)->value))
    result.push_back(Settings("").set("ids", ids).integers("ids"));
  return result;
}
void expect_ids(const Tokenizer& tokenizer, const std::string& input,
                const std::vector<int64_t>& ids, const std::vector<int64_t>& special_as_text) {
  EXPECT_EQ(tokenizer.encode_ids(input), ids);
  EXPECT_EQ(tokenizer.encode(input).ids, ids);
  EXPECT_EQ(tokenizer.encode_ids(input, {.add_special = false, .parse_special = false}),
            special_as_text);
}

TEST(LikeSiglipTokenizer, IdsAndText) {
  const std::string model = read_file(kFolder + "siglip.model");
  const Settings file = read_json(kFolder + "siglip.model.json");
  const std::vector<std::string> inputs = file.texts("texts");
  for (const Settings& row : objects(*file.find("rows"))) {
    const Settings& config = *row.group("config");
    SCOPED_TRACE(std::to_string(config.entries().size()) + " settings");
    const Tokenizer tokenizer = Tokenizer::from_siglip(model, "siglip.model", config);
    const auto ids = id_lists(row, "ids"), special_as_text = id_lists(row, "special_as_text");
    const std::vector<std::string> skipped = row.texts("skipped");
    ASSERT_EQ(ids.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      SCOPED_TRACE(inputs[i]);
      expect_ids(tokenizer, inputs[i], ids[i], special_as_text[i]);
      if (skipped.empty()) continue;
      EXPECT_EQ(tokenizer.decode(ids[i], true), skipped[i]);
    }
  }
}

class LikeLlamaCpp : public testing::TestWithParam<const char*> {};

TEST_P(LikeLlamaCpp, Ids) {
  const std::string name = GetParam();
  const Settings vocabulary = read_json(kFolder + name + ".json");
  const std::vector<std::string> inputs = texts();
  for (const Settings& row : objects(read_json_value(kFolder + name + ".expected.json"))) {
    Settings metadata = vocabulary;
    std::string variant;
    for (const auto& [key, value] : row.group("metadata")->entries()) {
      metadata.set(key, value);
      variant += key + "=" + describe(value) + " ";
    }
    SCOPED_TRACE(variant);
    const Tokenizer tokenizer = Tokenizer::from_gguf(metadata);
    const auto ids = id_lists(row, "ids"), special_as_text = id_lists(row, "special_as_text");
    ASSERT_EQ(ids.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      SCOPED_TRACE(inputs[i]);
      expect_ids(tokenizer, inputs[i], ids[i], special_as_text[i]);
    }
  }
}

TEST(LikeLlamaCppPre, IdsOfEveryPreTokenizer) {
  const Settings file = read_json(kFolder + "gguf_pre.json");
  const std::vector<std::string> inputs = file.texts("texts");
  size_t names = 0;
  for (const Settings& row : objects(*file.find("rows"))) {
    std::vector<std::vector<int64_t>> expected;
    for (const Setting& ids : std::get<Setting::List>(row.find("ids")->value))
      expected.push_back(Settings("").set("ids", ids).integers("ids"));
    ASSERT_EQ(expected.size(), inputs.size());
    for (const std::string& name : row.texts("names")) {
      SCOPED_TRACE(name);
      names++;
      Settings metadata = *file.group("vocabularies")->group(row.text("vocabulary"));
      metadata.set("tokenizer.ggml.pre", name);
      for (const auto& [key, value] : row.group("metadata")->entries()) metadata.set(key, value);
      const Tokenizer tokenizer = Tokenizer::from_gguf(metadata);
      EXPECT_TRUE(tokenizer.warnings().empty());
      for (size_t i = 0; i < inputs.size(); i++) {
        SCOPED_TRACE(inputs[i]);
        EXPECT_EQ(tokenizer.encode_ids(inputs[i]), expected[i]);
      }
    }
  }
  EXPECT_EQ(names, 91u);
}

INSTANTIATE_TEST_SUITE_P(Golden, LikeLlamaCpp, testing::Values("gguf_gpt2", "gguf_llama"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wick
