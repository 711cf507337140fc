// The body of a request to `wick serve`: of a chat, of a completion, and of a response.
#include "input.h"
#include "serve/requests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace wick::serve;
  const RequestLimits limits{.sampling = {}, .vocab_size = 1000, .reads_images = true};
  const auto read = [&](const auto& reader) {
    try {
      const wick::Settings settings = parse_body(wick::fuzz::text_of(bytes, count));
      reader(Fields(settings), limits);
    } catch (const RequestError&) {  // NOLINT: the right answer
    }
  };
  read(read_chat);
  read(read_completion);
  read(read_response);
  return 0;
}
