// HTTP/1.1 requests as bytes: heads, and bodies in chunks. Source: RFC 9110 and RFC 9112.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/request_error.h"

namespace wick::serve {

struct HttpHeader {
  std::string name;  // of a request: in lower case
  std::string value;
};

struct HttpRequest {
  std::string method;  // as it is sent, in upper case
  std::string path;    // decoded, without the query
  bool is_http_1_0 = false;
  std::vector<HttpHeader> headers;
  std::string body;
  std::string peer;  // the client's address

  /// The value of a header, given in lower case; nullptr if it is missing.
  const std::string* find(std::string_view name) const;
  /// Whether a header that lists words has this one, in lower case.
  bool lists(std::string_view name, std::string_view word) const;
};

/// Reads the head of a request: all up to the empty line, with it. Lines end with CR LF, and no
/// header continues on the next one. Errors: RequestError 400; 505 for another version of HTTP.
HttpRequest parse_head(std::string_view head);

/// How long the body is.
struct BodyLength {
  bool is_chunked = false;
  int64_t bytes = 0;  // unless it comes in chunks
};
/// Errors: RequestError 400, also for a length beside chunks or two different lengths; 501 for
/// another transfer coding.
BodyLength body_length(const HttpRequest& request);

/// Reads a body in chunks, as its bytes arrive.
class ChunkReader {
 public:
  /// max_bytes: of the body.
  explicit ChunkReader(int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Takes bytes and adds the body's to `body`. Returns the number of bytes taken: fewer than all
  /// only if the body ends among them. Errors: RequestError 400; 413 for too long a body.
  size_t push(std::string_view bytes, std::string& body);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State { kSize, kData, kDataEnd, kTrailer, kDone };
  void end_line();

  int64_t max_bytes_;
  State state_ = State::kSize;
  std::string line_;     // the part that has arrived
  int64_t left_ = 0;     // bytes of the chunk
  int64_t trailer_ = 0;  // bytes
};

/// The text with each %XX as its byte. Errors: RequestError 400 for a broken one, and for %00.
std::string percent_decoded(std::string_view text);
/// ASCII letters in lower case.
std::string lower_case(std::string_view text);

}  // namespace wick::serve
