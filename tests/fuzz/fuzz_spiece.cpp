// spiece.model: a text is encoded and decoded with it.
#include "input.h"
#include "wick/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  wick::fuzz::parse([&] {
    const wick::Tokenizer tokenizer = wick::Tokenizer::from_siglip(
        wick::fuzz::text_of(bytes, count), "spiece.model", wick::Settings("tokenizer_config.json"));
    tokenizer.decode(
        tokenizer.encode_ids("Hello, w\xc3\xb6rld \xef\xac\x81 123!\n  </s> <unk>\xff"));
  });
  return 0;
}
