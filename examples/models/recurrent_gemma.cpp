// RecurrentGemma reads a text of any length, part by part, in the same memory: its layers keep a state of fixed size, or the
// keys and values of a window.
//
//   recurrent_gemma MODEL [-p TEXT] [--device D] [--dtype T]
#include "example.h"

void recurrent_gemma(Example& example) {
  const wick::LanguageModel model = example.load();
  wick::SessionOptions options = example.session(wick::default_session_options(model));
  for (const int64_t capacity : {10'000, 1'000'000}) {
    options.capacity = capacity;
    const int64_t bytes = wick::Session(model, options).cache_bytes();
    std::printf("room for %ld tokens takes %ld bytes\n", long(capacity), long(bytes));
  }

  wick::Session session(model, options);
  const std::string text = example.prompt("One sheep jumps over the fence. Then the next. ");
  session.append(model.prompt_ids(text));
  for (int times = 1; times < 4; times++)
    session.append(model.tokenizer.value().encode_ids(text, {.add_special = false}));
  std::printf("%ld tokens read\n", long(session.length()));
  wick::Generation(model, session, {}, {.max_tokens = example.max_tokens(64)}).finish(print);
  example.result(session);
}

int main(int argc, char** argv) { return run(argc, argv, recurrent_gemma); }
