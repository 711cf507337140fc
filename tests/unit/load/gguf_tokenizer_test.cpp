#include "load/gguf_tokenizer.h"

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

const std::string kTokenizers = WICK_GOLDEN "/tokenizers/";

TEST(GgufTokenizer, TheFileGivesTheIdsOfTokenizerJson) {
  const struct {
    const char* name;
    int differing;  // texts of texts.json
  } rows[] = {
      {"gpt2", 0},
      {"llama3", 0},
      {"tekken", 0},
      {"starcoder2", 0},
      {"llama2", 0},
      {"gemma", 0},
      {"qwen2", 3},             // texts that NFC changes
      {"llama2_metaspace", 6},  // spaces at the beginning, and behind special tokens
  };
  const Setting texts = read_json_value(kTokenizers + "texts.json");
  for (const auto& [name, differing] : rows) {
    SCOPED_TRACE(name);
    const Settings json = read_json(kTokenizers + name + ".json");
    const Tokenizer tokenizer = Tokenizer::from_json(json);
    const std::vector<GgufField> fields =
        gguf_tokenizer(json, FolderTexts(), Settings(), tokenizer.vocab_size());
    const Tokenizer written = Tokenizer::from_gguf(settings_of(fields, "test"));
    EXPECT_EQ(written.vocab_size(), tokenizer.vocab_size());
    int found = 0;
    for (const Setting& item : std::get<Setting::List>(texts.value)) {
      const std::string& text = std::get<std::string>(item.value);
      if (tokenizer.encode_ids(text) != written.encode_ids(text)) found++;
    }
    EXPECT_EQ(found, differing);
  }
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
