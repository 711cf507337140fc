// The bytes of an HTTP request: its head, and a body in chunks, whole and byte by byte.
#include <cstdlib>

#include "input.h"
#include "serve/http_syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace wick::serve;
  const std::string_view text = wick::fuzz::text_of(bytes, count);
  const size_t end = text.find("\r\n\r\n");
  if (end == text.npos) return 0;
  const std::string_view head = text.substr(0, end + 4), rest = text.substr(end + 4);
  try {
    const HttpRequest request = parse_head(head);
    if (!body_length(request).is_chunked) return 0;
    std::string whole, parts;
    ChunkReader reader(1000), slow_reader(1000);
    const size_t taken = reader.push(rest, whole);
    size_t slowly = 0;
    while (slowly < rest.size() && !slow_reader.done())
      slowly += slow_reader.push(rest.substr(slowly, 1), parts);
    if (whole != parts || taken != slowly || whole.size() > 1000) std::abort();
  } catch (const RequestError&) {  // NOLINT: the right answer
  }
  return 0;
}
