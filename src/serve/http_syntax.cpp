#include "serve/http_syntax.h"

#include <algorithm>
#include <charconv>

namespace wick::serve {
namespace {

constexpr size_t kMaxChunkLine = 1024;  // bytes of a chunk's size and its extensions
constexpr int64_t kMaxTrailer = 8192;   // bytes

[[noreturn]] void refuse(const std::string& message) {
  throw RequestError(400, "HTTP: " + message);
}

/// A character of methods and of headers' names.
bool is_token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

std::string_view without_spaces_around(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

void parse_request_line(std::string_view line, HttpRequest& request) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) refuse("expected METHOD TARGET VERSION");
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(method)) refuse("the method has characters that none has");
  if (!version.starts_with("HTTP/")) refuse("expected METHOD TARGET VERSION");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    throw RequestError(505, "HTTP: expected version 1.1 or 1.0");
  if (std::any_of(target.begin(), target.end(), [](char c) { return c <= ' ' || c >= 0x7f; }))
    refuse("the target has characters that are not escaped");
  if (target.starts_with("http://")) {  // the absolute form, as proxies get it
    const size_t path = target.find('/', 7);
    target = path == target.npos ? "/" : target.substr(path);
  }
  if (!target.starts_with('/') && target != "*") refuse("expected a target that begins with /");
  request.method = method;
  request.path = percent_decoded(target.substr(0, target.find_first_of("?#")));
  request.is_http_1_0 = version == "HTTP/1.0";
}

HttpHeader parse_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon)))
    refuse("expected NAME: VALUE in each line of the head");
  const std::string_view value = without_spaces_around(line.substr(colon + 1));
  const bool good = std::all_of(value.begin(), value.end(), [](char c) {
    return c == '\t' || (uint8_t(c) >= ' ' && c != 0x7f);
  });
  if (!good) refuse("a header's value has control characters");
  return {lower_case(line.substr(0, colon)), std::string(value)};
}

}  // namespace

const std::string* HttpRequest::find(std::string_view name) const {
  for (const HttpHeader& header : headers)
    if (header.name == name) return &header.value;
  return nullptr;
}

bool HttpRequest::lists(std::string_view name, std::string_view word) const {
  for (const HttpHeader& header : headers) {
    if (header.name != name) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      if (lower_case(without_spaces_around(rest.substr(0, comma))) == word) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

HttpRequest parse_head(std::string_view head) {
  HttpRequest request;
  bool is_first = true;
  for (;;) {
    const size_t end = head.find("\r\n");
    if (end == head.npos) refuse("the head does not end with an empty line");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != line.npos)
      refuse("expected CR LF at the end of each line");
    if (is_first)
      parse_request_line(line, request);
    else if (line.empty())
      break;
    else
      request.headers.push_back(parse_header(line));
    is_first = false;
  }
  if (!head.empty()) refuse("bytes follow the head");
  const auto hosts = std::count_if(request.headers.begin(), request.headers.end(),
                                   [](const HttpHeader& header) { return header.name == "host"; });
  if (hosts > 1 || (hosts == 0 && !request.is_http_1_0)) refuse("expected one Host header");
  return request;
}

BodyLength body_length(const HttpRequest& request) {
  const std::string* const coding = request.find("transfer-encoding");
  const std::string* const length = request.find("content-length");
  if (coding) {
    if (length) refuse("both Content-Length and Transfer-Encoding are given");
    if (request.is_http_1_0) refuse("version 1.0 has no Transfer-Encoding");
    const auto count =
        std::count_if(request.headers.begin(), request.headers.end(),
                      [](const HttpHeader& header) { return header.name == "transfer-encoding"; });
    if (count > 1 || lower_case(*coding) != "chunked")
      throw RequestError(501, "HTTP: of transfer codings only chunked is supported");
    return {.is_chunked = true};
  }
  if (!length) return {};
  BodyLength result;
  const char* const end = length->data() + length->size();
  const auto [stop, error] = std::from_chars(length->data(), end, result.bytes);
  const bool is_number =
      error == std::errc() && stop == end && length->front() >= '0' && length->front() <= '9';
  if (!is_number) refuse("Content-Length: expected a number of bytes");
  for (const HttpHeader& header : request.headers)
    if (header.name == "content-length" && header.value != *length)
      refuse("two different Content-Length headers");
  return result;
}

size_t ChunkReader::push(std::string_view bytes, std::string& body) {
  size_t at = 0;
  while (at < bytes.size() && state_ != State::kDone) {
    if (state_ == State::kData) {
      const size_t count = std::min(bytes.size() - at, size_t(left_));
      body += bytes.substr(at, count);
      at += count;
      left_ -= int64_t(count);
      if (left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    line_ += bytes[at++];
    if (state_ == State::kTrailer && ++trailer_ > kMaxTrailer) refuse("the trailer is too long");
    if (line_.ends_with("\r\n")) {
      line_.resize(line_.size() - 2);
      if (line_.find_first_of("\r\n") != line_.npos) refuse("a stray CR or LF beside a chunk");
      end_line();
      line_.clear();
      if (state_ == State::kData && left_ > max_bytes_ - int64_t(body.size()))
        throw RequestError(413, "the body exceeds " + std::to_string(max_bytes_) + " bytes");
    } else if (line_.size() > kMaxChunkLine && state_ != State::kTrailer) {
      refuse("the line of a chunk's size is too long");
    }
  }
  return at;
}

/// Acts on a whole line in line_.
void ChunkReader::end_line() {
  switch (state_) {
    case State::kSize: {
      const std::string_view text =
          without_spaces_around(std::string_view(line_).substr(0, line_.find(';')));
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, left_, 16);
      if (error != std::errc() || stop != end || text.starts_with('-'))
        refuse("expected the size of a chunk in hexadecimal");
      state_ = left_ == 0 ? State::kTrailer : State::kData;
      break;
    }
    case State::kDataEnd:
      if (!line_.empty()) refuse("a chunk is longer than its size");
      state_ = State::kSize;
      break;
    case State::kTrailer:
      if (line_.empty()) state_ = State::kDone;
      break;
    default:
      break;
  }
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    uint8_t byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, byte, 16);
    if (digits.size() != 2 || error != std::errc() || stop != end || byte == 0)
      refuse("a broken escape in the target");
    result += char(byte);
    i += 2;
  }
  return result;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return result;
}

}  // namespace wick::serve
