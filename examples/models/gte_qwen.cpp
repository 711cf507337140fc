// gte-Qwen2 ranks texts for a search: by the cosine between their embeddings and the query's. A query comes with an instruction,
// a text comes as it is. Whether tokens see the tokens after them is in the model's config.
//
//   gte_qwen MODEL [-p QUERY] [--device D] [--dtype T]
#include "example.h"

void gte_qwen(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string task =
      "Given a web search query, retrieve relevant passages that answer the query";
  const std::string query = example.prompt("how long does bread bake");
  const std::vector<std::string> texts = {
      "A loaf of one pound bakes for 30 minutes at 220 degrees.",
      "The baker opened a second shop last spring.",
      "Glass is made of sand.",
  };

  std::vector<wick::Tensor> embeddings = {model.embed("Instruct: " + task + "\nQuery: " + query)};
  for (const std::string& text : texts) {
    embeddings.push_back(model.embed(text));  // [hidden_size], of length 1
    const float cosine = wick::dot(embeddings.front(), embeddings.back()).item<float>();
    std::printf("%6.3f  %s\n", double(cosine), text.c_str());
  }
  example.result("embeddings", wick::stack(embeddings));
}

int main(int argc, char** argv) { return run(argc, argv, gte_qwen); }
