// Qwen 3 answers at once, or thinks first: its chat template reads the variable enable_thinking.
//
//   qwen MODEL [-p QUESTION] [--device D] [--dtype T]
#include "example.h"

void qwen(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string question = example.prompt("Is 91 prime?");
  for (const bool thinks : {true, false}) {
    print(thinks ? "thinking:\n" : "\nat once:\n");
    wick::Chat chat(model,
                    {.max_tokens = example.max_tokens(1024),
                     .chat_template = {.more = wick::Settings().set("enable_thinking", thinks)},
                     .session = example.session(wick::default_session_options(model))});
    chat.ask(question, print);
    example.result(chat.session());
  }
}

int main(int argc, char** argv) { return run(argc, argv, qwen); }
