// Yi answers a question and one that follows from it. The session reads only the tokens that the second turn adds.
//
//   yi MODEL [-p QUESTION] [--device D] [--dtype T]
#include "example.h"

void yi(Example& example) {
  const wick::LanguageModel model = example.load();
  wick::Chat chat(model, {.messages = {{"system", "You are a guide."}},
                          .max_tokens = example.max_tokens(256),
                          .session = example.session(wick::default_session_options(model))});
  for (const std::string& question :
       {example.prompt("Name a river."), std::string("How long is it?")}) {
    const int64_t before = chat.session().tokens_read();
    print("> " + question + "\n");
    chat.ask(question, print);
    std::printf("\n(%ld of %ld tokens read)\n", long(chat.session().tokens_read() - before),
                long(chat.session().length()));
  }
  example.result(chat.session());
}

int main(int argc, char** argv) { return run(argc, argv, yi); }
