// Based recalls facts of its text, from a state of fixed size and a short window in place of the keys and values of all tokens.
//
//   based MODEL [-p TEXT] [--device D] [--dtype T]
#include "example.h"

void based(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string facts = example.prompt(
      "Ada keeps bees. Bo keeps goats. Cy keeps cats. Di keeps hens. Who keeps goats? The answer "
      "is");
  wick::Generation text(model, model.prompt_ids(facts),
                        {.max_tokens = example.max_tokens(32), .stop = {"\n"}},
                        example.session(wick::default_session_options(model)));
  print(facts);
  while (const auto piece = text.next()) print(*piece);
  std::fprintf(stderr, "\n%ld tokens, remembered in %ld bytes", long(text.session().length()),
               long(text.session().cache_bytes()));
  example.result(text.session());
}

int main(int argc, char** argv) { return run(argc, argv, based); }
