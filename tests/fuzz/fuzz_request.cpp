// The body of a request to `wick serve`: of a chat, and of a completion.
#include "input.h"
#include "serve/requests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace wick::serve;
  const RequestLimits limits{.sampling = {}, .vocab_size = 1000, .reads_images = true};
  for (const bool is_chat : {true, false}) {
    try {
      const wick::Settings settings = parse_body(wick::fuzz::text_of(bytes, count));
      const Fields body(settings);
      if (is_chat)
        read_chat(body, limits);
      else
        read_completion(body, limits);
    } catch (const RequestError&) {  // NOLINT: the right answer
    }
  }
  return 0;
}
