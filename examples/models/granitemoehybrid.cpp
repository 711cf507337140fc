// Granite 4 answers from documents, which its chat template lays out before the question.
//
//   granitemoehybrid MODEL [-p QUESTION] [--device D] [--dtype T]
#include "example.h"

void granitemoehybrid(Example& example) {
  const wick::LanguageModel model = example.load();
  const auto document = [](int id, const char* title, const char* text) {
    return wick::Settings().set("doc_id", id).set("title", title).set("text", text);
  };
  const wick::Setting::List documents = {
      document(1, "Ferry", "The ferry leaves at 9:40 and at 16:10."),
      document(2, "Museum", "The museum is closed on Mondays."),
  };

  wick::Chat chat(model, {.max_tokens = example.max_tokens(256),
                          .chat_template = {.more = wick::Settings().set("documents", documents)},
                          .session = example.session(wick::default_session_options(model))});
  chat.ask(example.prompt("When does the last ferry leave?"), print);
  example.result(chat.session());
}

int main(int argc, char** argv) { return run(argc, argv, granitemoehybrid); }
