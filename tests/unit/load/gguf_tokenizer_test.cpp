#include "load/gguf_tokenizer.h"

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

const std::string kTokenizers = WICK_GOLDEN "/tokenizers/";

/// The texts of texts.json of which the two give different ids.
int differing_texts(const Tokenizer& a, const Tokenizer& b) {
  int found = 0;
  const Setting texts = read_json_value(kTokenizers + "texts.json");
  for (const Setting& item : std::get<Setting::List>(texts.value)) {
    const std::string& text = std::get<std::string>(item.value);
    if (a.encode_ids(text) != b.encode_ids(text)) found++;
  }
  return found;
}

TEST(GgufTokenizer, TheFileGivesTheIdsOfTokenizerJson) {
  const struct {
    const char* name;
    int differing;  // texts of texts.json
  } rows[] = {
      {"gpt2", 0},
      {"llama3", 0},
      {"tekken", 0},
      {"llama4", 0},
      {"starcoder2", 0},
      {"llama2", 0},
      {"gemma", 0},
      {"qwen2", 3},             // texts that NFC changes
      {"llama2_metaspace", 6},  // spaces at the beginning, and behind special tokens
  };
  for (const auto& [name, differing] : rows) {
    SCOPED_TRACE(name);
    const Settings json = read_json(kTokenizers + name + ".json");
    const Tokenizer tokenizer = Tokenizer::from_json(json);
    const std::vector<GgufField> fields =
        gguf_tokenizer(json, FolderTexts(), Settings(), tokenizer.vocab_size());
    const Tokenizer written = Tokenizer::from_gguf(settings_of(fields, "test"));
    EXPECT_EQ(written.vocab_size(), tokenizer.vocab_size());
    EXPECT_EQ(differing_texts(tokenizer, written), differing);
  }
}

TEST(GgufTokenizer, ATokenizerJsonOfTheFileGivesTheSameIds) {
  const std::pair<const char*, int> rows[] = {
      {"gpt2", 0},       {"llama3", 0},     {"tekken", 0}, {"llama4", 0},
      {"starcoder2", 0}, {"llama2", 0},     {"gemma", 0},  {"qwen2", 0},
      {"gguf_gpt2", 0},  {"gguf_llama", 1},  // a token of two characters that are no tokens
  };
  for (const auto& [name, differing] : rows) {
    SCOPED_TRACE(name);
    Settings metadata = read_json(kTokenizers + name + ".json");
    if (!metadata.has("tokenizer.ggml.model"))
      metadata = settings_of(gguf_tokenizer(metadata, FolderTexts(), Settings(),
                                            Tokenizer::from_json(metadata).vocab_size()),
                             "test");
    const Tokenizer of_file = Tokenizer::from_gguf(metadata);
    // Through its text, as a reader finds it.
    const Tokenizer of_json =
        Tokenizer::from_json(parse_json(to_json(json_tokenizer(metadata)), "test"));
    EXPECT_EQ(differing_texts(of_file, of_json), differing);
    const Settings config = json_tokenizer_config(metadata, of_json);
    if (of_file.bos() && metadata.has("tokenizer.ggml.bos_token_id")) {
      EXPECT_EQ(config.text("bos_token"), of_file.token(*of_file.bos()));
    }
  }
}

/// The texts of the ids that end a text, of a file with these tokens that names the first of them.
std::vector<std::string> ends_of(const std::vector<std::string>& tokens) {
  Settings metadata("m.gguf");
  metadata.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "gpt-2");
  metadata.set("tokenizer.ggml.tokens", Setting::List(tokens.begin(), tokens.end()));
  metadata.set("tokenizer.ggml.merges", Setting::List());
  metadata.set("tokenizer.ggml.eos_token_id", 0);
  std::vector<std::string> texts;
  for (const int64_t id : gguf_stop_ids(metadata, Tokenizer::from_gguf(metadata)))
    texts.push_back(tokens[size_t(id)]);
  return texts;
}

TEST(GgufTokenizer, TokensOfKnownTextsEndATextUnlessOthersGiveThemAnotherUse) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(ends_of({"a", "b", "<|im_end|>", "</s>", "<|end|>"}),
            (Texts{"a", "<|im_end|>", "<|end|>", "</s>"}));
  EXPECT_EQ(ends_of({"a", "<|flush|>", "<|calls|>", "[e~["}),
            (Texts{"a", "<|flush|>", "<|calls|>", "[e~["}));
  EXPECT_EQ(ends_of({"<|return|>", "<|end|>", "<|call|>"}), (Texts{"<|return|>", "<|call|>"}));
  EXPECT_EQ(ends_of({"<eos>", "</s>", "<|tool_response>"}), (Texts{"<eos>", "<|tool_response>"}));
  EXPECT_EQ(ends_of({"<|end|>", "<|return|>", "<|call|>"}),  // as the file says
            (Texts{"<|end|>", "<|return|>", "<|call|>"}));
}

TEST(GgufTokenizer, RefusesWhatTheFileCannotSay) {
  const Settings json = read_json(kTokenizers + "gpt2.json");
  EXPECT_ERROR(gguf_tokenizer(json, FolderTexts(), Settings(), 8), kFormat,
               "is outside the 8 rows of the embedding");
  EXPECT_ERROR(
      gguf_tokenizer(read_json(kTokenizers + "words.json"), FolderTexts(), Settings(), 1024),
      kUnsupported, "no pre-tokenization of GGUF files that wick knows");
}

}  // namespace
}  // namespace wick
