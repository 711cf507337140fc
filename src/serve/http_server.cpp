#include "serve/http_server.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <system_error>

namespace wick::serve {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

/// The time as HTTP has it. Source: RFC 9110, section 5.6.7.
std::string date() {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  gmtime_r(&now, &t);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %d %02d:%02d:%02d GMT", kDays[t.tm_wday], t.tm_mday,
                kMonths[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  return text;
}

}  // namespace

std::string HttpExchange::head(int status, std::string_view content_type) const {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " + reason_of(status) +
                     "\r\nDate: " + date() + "\r\nServer: wick\r\n";
  if (!content_type.empty()) ((text += "Content-Type: ") += content_type) += "\r\n";
  for (const HttpHeader& header : headers) text += header.name + ": " + header.value + "\r\n";
  if (closes) text += "Connection: close\r\n";
  return text;
}

void HttpExchange::respond(int status, std::string_view content_type, std::string_view body) {
  status_ = status;
  std::string text = head(status, content_type);
  if (status != 204) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n";
  if (request.method != "HEAD") text += body;
  send(text);
}

void HttpExchange::begin(int status, std::string_view content_type) {
  closes = closes || !has_chunks();  // the connection's end is the answer's
  status_ = status;
  std::string text = head(status, content_type);
  if (has_chunks()) text += "Transfer-Encoding: chunked\r\n";
  send(text + "\r\n");
}

void HttpExchange::write(std::string_view part) {
  if (part.empty()) return;  // a chunk of no bytes is the end
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", part.size());
  send(has_chunks() ? size + std::string(part) + "\r\n" : std::string(part));
}

void HttpExchange::end() {
  if (has_chunks()) send("0\r\n\r\n");
}

void HttpExchange::check_client() const {
  if (socket_.is_closed()) throw ClientGone("the client closed the connection");
}

HttpServer::HttpServer(const HttpOptions& options, HttpHandler& handler)
    : options_(options),
      handler_(handler),
      listener_(std::make_unique<Listener>(options.host, options.port)),
      port_(listener_->port()),
      acceptor_([this] { accept_all(); }) {}

HttpServer::~HttpServer() {
  close();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) connection->socket.shut_down();
  }
  for (const auto& connection : connections_) connection->thread.join();
}

void HttpServer::close() {
  {
    const std::lock_guard lock(mutex_);
    closes_ = true;
    for (const auto& connection : connections_)
      if (!connection->is_busy) connection->socket.shut_down();
  }
  if (!acceptor_.joinable()) return;
  listener_->close();
  acceptor_.join();
  listener_.reset();  // further clients are refused by the system
}

bool HttpServer::wait_until(Clock::time_point time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_until(lock, time, [&] {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const auto& connection) { return connection->has_ended; });
  });
}

int64_t HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return std::count_if(connections_.begin(), connections_.end(),
                       [](const auto& connection) { return !connection->has_ended; });
}

void HttpServer::accept_all() {
  for (int descriptor; (descriptor = listener_->accept()) >= 0;) {
    auto connection = std::make_unique<Connection>(descriptor);
    Connections ended;
    {
      const std::lock_guard lock(mutex_);
      for (auto it = connections_.begin(); it != connections_.end();)
        if (auto here = it++; (*here)->has_ended) ended.splice(ended.end(), connections_, here);
    }
    for (const auto& other : ended) other->thread.join();
    const std::lock_guard lock(mutex_);
    try {
      if (closes_) continue;
      if (!make_room()) throw std::system_error(EAGAIN, std::generic_category());
      Connection& added = *connections_.emplace_back(std::move(connection));
      try {
        added.thread = std::thread([this, &added] { serve(added); });
      } catch (...) {
        connection = std::move(connections_.back());
        connections_.pop_back();
        throw;
      }
    } catch (const std::system_error&) {  // no thread, or too many connections
      HttpExchange exchange(connection->socket, std::chrono::milliseconds(0));
      exchange.closes = true;
      RequestError error(503, "the server has too many connections");
      error.retry_after_seconds = 1;
      try {
        handler_.refuse(exchange, error);
      } catch (const ClientGone&) {  // NOLINT: it has closed too
      }
    }
  }
}

/// Whether there may be one more connection. If there are too many, ends the one that has been idle
/// for longest.
bool HttpServer::make_room() {
  if (int64_t(connections_.size()) < options_.max_connections) return true;
  Connection* oldest = nullptr;
  for (const auto& connection : connections_)
    if (!connection->is_busy && !connection->has_ended &&
        (!oldest || connection->idle_since < oldest->idle_since))
      oldest = connection.get();
  if (!oldest) return false;
  oldest->is_busy = true;  // so that no other one takes its place twice
  oldest->socket.shut_down();
  return true;
}

void HttpServer::serve(Connection& connection) {
  try {
    for (std::string received; serve_request(connection, received);) {
    }
  } catch (const ClientGone&) {      // NOLINT: there is nobody to answer
  } catch (const std::exception&) {  // NOLINT: one request must not end the others, as it would
  }
  const std::lock_guard lock(mutex_);
  connection.socket.shut_down();
  connection.socket.close();  // its thread is joined when there is a next connection
  connection.has_ended = true;
  ended_.notify_all();
}

/// Notes that a request has begun. Returns false if it comes too late.
bool HttpServer::enter(Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (closes_ || connection.is_busy) return false;
  connection.is_busy = true;
  return true;
}

/// Serves one request. Returns whether the connection goes on.
bool HttpServer::serve_request(Connection& connection, std::string& received) {
  HttpExchange exchange(connection.socket, options_.patience);
  bool has_body = false;  // no byte of it is on its way
  try {
    std::string head;
    if (!read_head(connection, received, head)) return false;
    exchange.closes = true;  // as long as the request may be broken
    exchange.request = parse_head(head);
    exchange.request.peer = connection.socket.peer();
    handler_.admit(exchange);
    read_body(exchange, connection, received);
    has_body = true;
    exchange.closes =
        exchange.request.is_http_1_0 || exchange.request.lists("connection", "close") || closes_;
    handler_.handle(exchange);
  } catch (const RequestError& error) {
    handler_.refuse(exchange, error);
  }
  if (exchange.closes || !has_body) {
    connection.socket.linger();
    return false;
  }
  const std::lock_guard lock(mutex_);
  connection.is_busy = false;
  connection.idle_since = Clock::now();
  return !closes_;
}

/// Moves the next head from `received`. Returns false if the client sends no further one.
bool HttpServer::read_head(Connection& connection, std::string& received, std::string& head) {
  const Clock::time_point idle_until = Clock::now() + options_.idle;
  if (received.empty() && !connection.socket.read(received, idle_until)) return false;
  if (!enter(connection)) return false;
  const Clock::time_point until = Clock::now() + options_.head;
  for (size_t from = 0;;) {
    const size_t end = received.find(kHeadEnd, from);
    if (end != received.npos && int64_t(end) < options_.max_head_bytes) {
      head = received.substr(0, end + kHeadEnd.size());
      received.erase(0, head.size());
      return true;
    }
    if (int64_t(received.size()) > options_.max_head_bytes)
      throw RequestError(431, "the head of the request exceeds " +
                                  std::to_string(options_.max_head_bytes) + " bytes");
    from = received.size() < kHeadEnd.size() ? 0 : received.size() - kHeadEnd.size();
    if (!connection.socket.read(received, until)) {
      if (Clock::now() < until) return false;  // the client has closed
      throw RequestError(408, "the head of the request did not arrive in time");
    }
  }
}

void HttpServer::read_body(HttpExchange& exchange, Connection& connection,
                           std::string& received) const {
  HttpRequest& request = exchange.request;
  const BodyLength length = body_length(request);
  if (!length.is_chunked && length.bytes > options_.max_body_bytes)
    throw RequestError(413, "the body exceeds " + std::to_string(options_.max_body_bytes) +
                                " bytes: Content-Length is " + std::to_string(length.bytes));
  if (const std::string* const expected = request.find("expect")) {
    if (lower_case(*expected) != "100-continue")
      throw RequestError(417, "HTTP: of expectations only 100-continue is supported");
    const bool waits = received.empty() && (length.is_chunked || length.bytes > 0);
    if (waits && !request.is_http_1_0)
      connection.socket.write("HTTP/1.1 100 Continue\r\n\r\n", options_.patience);
  }
  const Clock::time_point until = Clock::now() + options_.body;
  const auto read_more = [&] {
    if (connection.socket.read(received, until)) return;
    if (Clock::now() < until) throw ClientGone("the client closed the connection");
    throw RequestError(408, "the body of the request did not arrive in time");
  };
  if (length.is_chunked) {
    for (ChunkReader chunks(options_.max_body_bytes);;) {
      received.erase(0, chunks.push(received, request.body));
      if (chunks.done()) return;
      read_more();
    }
  }
  const size_t count = size_t(length.bytes);
  while (received.size() < count) read_more();
  request.body = received.substr(0, count);
  received.erase(0, count);
}

}  // namespace wick::serve
