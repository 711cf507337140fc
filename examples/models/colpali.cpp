// ColPali finds the page that answers a query: images of pages, of which each token has a vector, and so has each token of the
// query. The score of a page is the sum, over the query's tokens, of the largest product with a vector of the page.
//
//   colpali MODEL --image FILE [--image FILE ...] [-p QUERY] [--device D] [--dtype T]
#include "example.h"

void colpali(Example& example) {
  const wick::LanguageModel model = example.load();
  const std::string query = example.prompt("which page has a table of prices?");
  const wick::Tensor query_vectors = model.embed_query(query);  // [tokens, embedding_dim]

  std::vector<wick::Tensor> pages;
  for (const wick::Image& image : example.images()) pages.push_back(model.embed_image(image));
  const wick::Tensor scores = wick::late_interaction(query_vectors, pages);
  for (int64_t page = 0; page < scores.size(0); page++)
    std::printf("%7.3f  page %lld\n", double(wick::select(scores, 0, page).item<float>()),
                static_cast<long long>(page + 1));
  example.result("query", query_vectors);
  example.result("page", pages.front());
  example.result("scores", scores);
}

int main(int argc, char** argv) { return run(argc, argv, colpali); }
