// The tokenizer of models that read and write bytes.
#include "text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer.h"

namespace wick {

Settings byte_tokenizer_json() {
  Settings vocabulary;
  for (int byte = 0; byte < 256; byte++)
    vocabulary.set(std::string(tokenization::letter_of(uint8_t(byte))), byte);
  Settings byte_level;
  byte_level.set("type", "ByteLevel").set("add_prefix_space", false);
  byte_level.set("trim_offsets", true).set("use_regex", false);
  Settings model;
  model.set("type", "BPE").set("dropout", nullptr).set("unk_token", nullptr);
  model.set("continuing_subword_prefix", nullptr).set("end_of_word_suffix", nullptr);
  model.set("fuse_unk", false).set("byte_fallback", false).set("ignore_merges", false);
  model.set("vocab", vocabulary).set("merges", Setting::List{});
  Settings tokenizer("tokenizer.json");
  tokenizer.set("version", "1.0").set("truncation", nullptr).set("padding", nullptr);
  tokenizer.set("added_tokens", Setting::List{}).set("normalizer", nullptr);
  tokenizer.set("pre_tokenizer", byte_level).set("post_processor", nullptr);
  return tokenizer.set("decoder", byte_level).set("model", model);
}

}  // namespace wick
