// A small llama with a token for each of 48 letters and a chat template.
#pragma once
#include <string>

#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/load/load_model.h"

namespace wick::test {

/// The model, of 64 positions. The template: a message is the first letter of its role and its content;
/// "A" asks for an answer.
inline LanguageModel letters_model() {
  const TemporaryFolder folder;
  const std::string source = std::string(WICK_GOLDEN) + "/decoders/llama_linear/";
  for (const char* name : {"config.json", "model.safetensors"})
    folder.write(name, read_file(source + name));
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV";
  std::string vocab;
  for (size_t i = 0; i < letters.size(); i++)
    vocab += (i > 0 ? ", \"" : "\"") + letters.substr(i, 1) + "\": " + std::to_string(i);
  folder.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {)" + vocab +
                                     R"(}, "merges": []}, "decoder": {"type": "Fuse"}})");
  folder.write("chat_template.jinja",
               "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}"
               "{% if add_generation_prompt %}A{% endif %}");
  return load_model(folder.path(), {.device = Device::cpu(), .dtype = DType::kF32});
}

/// Greedy, and without stop ids unless they are given.
inline SessionOptions greedy(int64_t capacity = 0) {
  return {.capacity = capacity, .sampling = {.temperature = 0}};
}

/// The likeliest continuation, token by token.
inline std::string continuation(const LanguageModel& model, const std::string& text, int tokens) {
  Session session(model, greedy());
  session.append(model.prompt_ids(text));
  std::vector<int64_t> ids;
  while (int(ids.size()) < tokens) ids.push_back(session.step()[0]);
  return model.tokenizer->decode(ids);
}

}  // namespace wick::test
