// Gemma answers a question by the chat template of its files, and the answer comes piece by piece.
//
//   gemma MODEL [-p QUESTION] [--device D] [--dtype T]
#include "example.h"

void gemma(Example& example) {
  const wick::LanguageModel model = example.load();
  wick::Chat chat(model, {.max_tokens = example.max_tokens(512),
                          .session = example.session(wick::default_session_options(model))});
  chat.ask(example.prompt("Why is the sky blue?"), print);

  const wick::Rate& rate = chat.answer().decode;
  std::fprintf(stderr, "\n%.1f tokens/s", rate.per_second());
  example.result(chat.session());
}

int main(int argc, char** argv) { return run(argc, argv, gemma); }
