// Mistral answers several questions at once: the sequences of one session, which take one pass over the weights for each token
// together.
//
//   mistral MODEL [-p QUESTION] [--device D] [--dtype T]
#include "example.h"

void mistral(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::vector<std::string> questions = {example.prompt("What is a monsoon?"),
                                              "Name a red fruit.", "Who wrote Faust, and when?"};
  std::vector<std::vector<int64_t>> prompts;
  for (const std::string& question : questions)
    prompts.push_back(model.chat_ids({{"user", question}}));

  wick::SessionOptions options = example.session(wick::default_session_options(model));
  options.sequences = int64_t(questions.size());
  options.capacity = 1024;
  wick::Session session(model, options);
  session.append_each(prompts);
  std::vector<std::vector<int64_t>> answers(questions.size());
  for (int64_t step = example.max_tokens(256); step > 0; step--) {
    const std::vector<int64_t> tokens = session.step();
    for (size_t i = 0; i < answers.size(); i++)
      if (!session.stopped(int64_t(i))) answers[i].push_back(tokens[i]);
  }

  for (size_t i = 0; i < answers.size(); i++)
    print("> " + questions[i] + "\n" + model.tokenizer.value().decode(answers[i]) + "\n");
  example.result(session);
}

int main(int argc, char** argv) { return run(argc, argv, mistral); }
