// StableLM continues a text until the paragraph ends.
//
//   stable_lm MODEL [-p TEXT] [--device D] [--dtype T]
#include "example.h"

void stable_lm(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string prompt = example.prompt("The lighthouse keeper counted the ships:");
  wick::Generation text(model, model.prompt_ids(prompt),
                        {.max_tokens = example.max_tokens(200), .stop = {"\n\n"}},
                        example.session(wick::default_session_options(model)));
  print(prompt);
  while (const auto piece = text.next()) print(*piece);
  std::fprintf(stderr, "\nended by: %s", wick::to_string(text.result().ending));
  example.result(text.session());
}

int main(int argc, char** argv) { return run(argc, argv, stable_lm); }
