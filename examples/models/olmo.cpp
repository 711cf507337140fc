// OLMo continues a text in three ways: each seed draws other tokens, and gives the same text whenever it is used again.
//
//   olmo MODEL [-p TEXT] [--device D] [--dtype T]
#include "example.h"

void olmo(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string prompt = example.prompt("Language modeling is");
  for (const uint64_t seed : {1, 2, 3}) {
    wick::Generation text(
        model, model.prompt_ids(prompt), {.max_tokens = example.max_tokens(60)},
        example.session(
            {.sampling = {.temperature = 0.8, .top_k = 50, .top_p = 0.95}, .seed = seed}));
    text.finish();
    print(std::to_string(seed) + ": " + prompt + text.result().text + "\n");
    example.result(text.session());
  }
}

int main(int argc, char** argv) { return run(argc, argv, olmo); }
