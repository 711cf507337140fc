// A small model with a token for each of 48 letters and a chat template.
#pragma once
#include <string>

#include "../temporary_folder.h"
#include "wick/generate/session.h"
#include "wick/io/file.h"
#include "wick/load/load_model.h"

namespace wick::test {

/// The template of letters_model: a message is the first letter of its role and its content; "A" asks
/// for an answer.
inline const std::string kLettersTemplate =
    "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}A{% endif %}";

/// The model in a folder of tests/golden, a llama unless another is named; of 64 positions unless the
/// number is given.
inline LanguageModel letters_model(const std::string& name = "decoders/llama_linear",
                                   const std::string& chat_template = kLettersTemplate,
                                   int64_t positions = 0, const Device& device = Device::cpu(),
                                   DType dtype = DType::kF32) {
  const TemporaryFolder folder;
  const std::string source = std::string(WICK_GOLDEN) + "/" + name + "/";
  for (const char* file : {"config.json", "model.safetensors"})
    folder.write(file, read_file(source + file));
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV";
  std::string vocab;
  for (size_t i = 0; i < letters.size(); i++)
    vocab += (i > 0 ? ", \"" : "\"") + letters.substr(i, 1) + "\": " + std::to_string(i);
  folder.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {)" + vocab +
                                     R"(}, "merges": []}, "decoder": {"type": "Fuse"}})");
  folder.write("chat_template.jinja", chat_template);
  return load_model(folder.path(), {.device = device, .dtype = dtype, .positions = positions});
}

/// Greedy; no token stops a sequence.
inline SessionOptions greedy(int64_t capacity = 0) {
  return {.capacity = capacity, .sampling = {.temperature = 0}, .stop_ids = std::vector<int64_t>()};
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
