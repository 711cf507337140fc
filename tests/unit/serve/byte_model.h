// A small model of random weights whose tokens are the 256 bytes.
#pragma once
#include "../small_config.h"
#include "../temporary_folder.h"
#include "wick/wick.h"

namespace wick::test {

/// A message is "ROLE CONTENT;", and "assistant " asks for an answer. Byte 0 ends a text.
/// more_template: stands at the end of the template. specials: special tokens, from id 256 on.
inline LanguageModel byte_model(int64_t positions, const std::string& more_template = "",
                                const std::vector<std::string>& specials = {}) {
  const TemporaryFolder folder;
  Setting::List added;
  for (const std::string& special : specials) {
    Settings token;
    token.set("id", int64_t(256 + added.size())).set("content", special).set("special", true);
    token.set("single_word", false).set("lstrip", false).set("rstrip", false);
    added.push_back(std::move(token.set("normalized", false)));
  }
  Settings tokenizer = byte_tokenizer_json();
  write_json(folder.path() + "/tokenizer.json", tokenizer.set("added_tokens", std::move(added)));
  folder.write("chat_template.jinja",
               "{% for m in messages %}{{ m.role }} {{ m.content }};{% endfor %}"
               "{% for t in tools or [] %}tool {{ t.function.name }};{% endfor %}"
               "{% if add_generation_prompt %}assistant {% endif %}" +
                   more_template);
  Device::cpu().set_seed(7);
  DecoderConfig config = small_config();
  config.vocab_size = 256 + int64_t(specials.size()), config.hidden_size = 16,
  config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = positions, config.initializer_range = 0.5;
  config.eos_token_ids = {0};
  Parameters parameters({.trainable = true});
  const Decoder decoder(config, parameters);
  NamedTensors tensors;
  for (const auto& [name, var] : parameters.vars()) tensors[name] = var.tensor();
  save_safetensors(folder.path() + "/model.safetensors", tensors);
  write_json(folder.path() + "/config.json", to_settings(config));
  return load_model(folder.path(), {.device = Device::cpu(), .dtype = DType::kF32});
}

}  // namespace wick::test
