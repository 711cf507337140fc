// preprocessor_config.json: the steps of an image processor.
#include "input.h"
#include "media/processor_settings.h"
#include "wick/io/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  wick::fuzz::parse([&] {
    wick::media::read_processor_settings(
        wick::parse_json(wick::fuzz::text_of(bytes, count), "preprocessor_config.json"));
  });
  return 0;
}
