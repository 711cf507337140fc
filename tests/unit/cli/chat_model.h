// A small model of random weights with a tokenizer and a chat template, made by the test.
#pragma once
#include <string>

#include "../small_config.h"
#include "run.h"
#include "wick/wick.h"

namespace wick::test {

/// Writes a folder with a model of 40 tokens: letters, space, punctuation and three special tokens.
/// positions: those that the model knows.
inline void write_chat_model(const Folder& folder, int64_t positions = 96) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz.,!?'0123";
  std::string vocab = R"("<s>": 0, "<end>": 1, "<turn>": 2, "\u0120": 3, "\u010a": 4)";
  int64_t id = 5;
  for (const char c : letters)
    vocab += ", " + to_json(std::string(1, c)) + ": " + std::to_string(id++);
  const auto special = [](int id, const std::string& text) {
    return R"({"id": )" + std::to_string(id) + R"(, "content": ")" + text +
           R"(", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})";
  };
  folder.write("tokenizer.json",
               R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)" +
                   special(0, "<s>") + "," + special(1, "<end>") + "," + special(2, "<turn>") +
                   R"(], "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
    "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {)" +
                   vocab + R"(}, "merges": []}})");
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": "<end>", "chat_template":
  "{{ bos_token }}{% for m in messages %}<turn>{{ m.role }} {{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<turn>assistant {% endif %}"})");
  Device::cpu().set_seed(7);
  DecoderConfig config = test::small_config();
  config.vocab_size = 40, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = positions, config.initializer_range = 0.5,
  config.eos_token_ids = {1};
  Parameters parameters({.trainable = true});
  const Decoder decoder(config, parameters);
  NamedTensors tensors;
  for (const auto& [name, var] : parameters.vars()) tensors[name] = var.tensor();
  save_safetensors(folder / "model.safetensors", tensors);
  write_json(folder / "config.json", to_settings(config));
}

}  // namespace wick::test
