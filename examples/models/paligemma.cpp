// PaliGemma 1 and 2 write about an image. They are trained on tasks: "caption en", "answer en where is the cat?",
// "detect cat", "ocr"; the image and the task see each other both ways.
//
//   paligemma MODEL --image FILE [-p TASK] [--device D] [--dtype T]
#include "example.h"

void paligemma(Example& example) {
  const wick::LanguageModel model = example.load();
  const wick::Prompt prompt = model.prompt(example.prompt("caption en"), example.images());
  wick::Generation text(
      model, prompt.ids,
      {.max_tokens = example.max_tokens(128), .pixel_values = prompt.pixel_values},
      example.session(wick::default_session_options(model)));
  while (const auto piece = text.next()) print(*piece);
  example.result(text.session());
}

int main(int argc, char** argv) { return run(argc, argv, paligemma); }
