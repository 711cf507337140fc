// config.json: the settings of a decoder.
#include "input.h"
#include "wick/io/json.h"
#include "wick/models/decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  wick::fuzz::parse([&] {
    wick::decoder_config(wick::parse_json(wick::fuzz::text_of(bytes, count), "config.json"));
  });
  return 0;
}
