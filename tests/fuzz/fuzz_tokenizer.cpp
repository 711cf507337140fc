// tokenizer.json: a text is encoded and decoded with it.
#include "input.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  wick::fuzz::parse([&] {
    const wick::Tokenizer tokenizer = wick::Tokenizer::from_json(
        wick::parse_json(wick::fuzz::text_of(bytes, count), "tokenizer.json"));
    tokenizer.decode(tokenizer.encode_ids("Hello, w\xc3\xb6rld 123!\n  <s> \xff"));
  });
  return 0;
}
