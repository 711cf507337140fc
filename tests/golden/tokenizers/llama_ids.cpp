// Prints what llama.cpp makes of texts: a program for make_gguf.py, built within llama.cpp's tree.
//
// Compile it with the sources of llama_vocab, llama_model_loader and what these need, or link it
// with libllama; headers are in src, include, ggml/include and ggml/src of that tree.
//
//   llama_ids FILE.gguf ADD_SPECIAL PARSE_SPECIAL    the last two: 0 or 1
//
// stdin: texts, each after its size as u32. stdout: a line of ids for each.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "llama-arch.h"
#include "llama-model-loader.h"
#include "llama-vocab.h"

int main(int, char** arguments) {
  std::vector<std::string> splits;
  llama_model_loader loader(nullptr, nullptr, nullptr, arguments[1], splits, nullptr,
                            LLAMA_LOAD_MODE_MMAP, false, false, false, nullptr, nullptr);
  llama_vocab vocab;
  vocab.load(loader, LLM_KV(loader.get_arch()));
  for (uint32_t size; std::fread(&size, sizeof size, 1, stdin) == 1;) {
    std::string text(size, '\0');
    if (std::fread(text.data(), 1, size, stdin) != size) return 1;
    const char* separator = "";
    for (const llama_token id :
         vocab.tokenize(text, arguments[2][0] == '1', arguments[3][0] == '1')) {
      std::printf("%s%d", separator, id);
      separator = " ";
    }
    std::puts("");
  }
}
