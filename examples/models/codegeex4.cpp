// CodeGeeX4 writes the code between two parts of a file. Its prompt names the file, the language, and whether a line or a block
// is missing; the part after the gap comes first.
//
//   codegeex4 MODEL [-p CODE_BEFORE_THE_GAP] [--device D] [--dtype T]
#include "example.h"

void codegeex4(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string before =
      example.prompt("def depth(text):\n    most = open = 0\n    for c in text:\n");
  const std::string after = "    return most\n";
  const std::string prompt =
      "[gMASK]<sop><|user|>\n###PATH:depth.py\n###LANGUAGE:Python\n###MODE:BLOCK\n<|code_suffix|>" +
      after + "<|code_prefix|>" + before + "<|code_middle|><|assistant|>\n";

  // The prompt has its special tokens already, so the tokenizer adds none.
  const std::vector<int64_t> ids =
      model.tokenizer.value().encode_ids(prompt, {.add_special = false});
  wick::Generation code(model, ids, {.max_tokens = example.max_tokens(256)},
                        example.session({.sampling = {.temperature = 0}}));
  print(before);
  code.finish(print);
  print(after);
  example.result(code.session());
}

int main(int argc, char** argv) { return run(argc, argv, codegeex4); }
