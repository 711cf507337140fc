// StarCoder2 fills the gap in a piece of code, which <FILL> marks.
//
//   starcoder2 MODEL [-p CODE] [--device D] [--dtype T]
#include "example.h"

void starcoder2(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string code = example.prompt("int square(int x) {\n  return <FILL>;\n}\n"),
                    mark = "<FILL>";
  const size_t gap = code.find(mark);
  if (gap == std::string::npos) throw std::runtime_error("the code has no " + mark);
  const std::string before = code.substr(0, gap), after = code.substr(gap + mark.size());

  const std::string prompt = "<fim_prefix>" + before + "<fim_suffix>" + after + "<fim_middle>";
  wick::Generation middle(
      model, model.prompt_ids(prompt),
      {.max_tokens = example.max_tokens(128), .stop = {"<file_sep>"}, .skip_special = false},
      example.session({.sampling = {.temperature = 0}}));
  middle.finish();
  print(before + middle.result().text + after);
  example.result(middle.session());
}

int main(int argc, char** argv) { return run(argc, argv, starcoder2); }
