// What a trained model should beat: byte models that only count which bytes follow the last 2, 3 and 4
// in the texts (witten_bell.h). Their losses are of the part of the texts that `wick train` holds out too.
//
//   counting_model TEXT...        files, and folders of them
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "wick/wick.h"
#include "witten_bell.h"

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "counting_model: expected files of text\n"), 2;
  const wick::Corpus corpus = wick::read_corpus(std::vector<std::string>(argv + 1, argv + argc));
  for (const int order : {2, 3, 4}) {
    const double loss = WittenBell(corpus.train, order).loss(corpus.held_out);
    std::printf("order %d: held-out loss %.4f nats a byte (%.4f bits)\n", order, loss,
                loss / std::log(2.0));
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "counting_model: %s\n", e.what());
  return 2;
}
