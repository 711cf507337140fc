// An HTTP/1.1 server with a thread for each connection.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/http_syntax.h"
#include "serve/socket.h"

namespace wick::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  int64_t max_connections = 512;
  int64_t max_body_bytes = 32 << 20;
  int64_t max_head_bytes = 32 << 10;
  std::chrono::milliseconds idle{75'000};      // of a connection between two requests
  std::chrono::milliseconds head{10'000};      // from a request's first byte to the end of its head
  std::chrono::milliseconds body{120'000};     // until the body has arrived
  std::chrono::milliseconds patience{30'000};  // with a client that does not read
};

/// A request, and the way to answer it: respond, or begin, write and end. Errors of those, and of
/// check_client: ClientGone.
class HttpExchange {
 public:
  HttpExchange(Socket& socket, std::chrono::milliseconds patience)
      : socket_(socket), patience_(patience) {}

  HttpRequest request;
  /// Sent with the answer, whatever it is.
  std::vector<HttpHeader> headers;
  /// The connection ends after the answer.
  bool closes = false;

  void respond(int status, std::string_view content_type, std::string_view body);
  /// An answer that grows: its head, its parts, its end.
  void begin(int status, std::string_view content_type);
  void write(std::string_view part);
  void end();

  /// The status that was sent; 0 before.
  int status() const { return status_; }
  /// Throws if the client has closed the connection.
  void check_client() const;

 private:
  void send(std::string_view bytes) { socket_.write(bytes, patience_); }
  std::string head(int status, std::string_view content_type) const;
  bool has_chunks() const { return !request.is_http_1_0; }

  Socket& socket_;
  std::chrono::milliseconds patience_;
  int status_ = 0;
};

/// The work of a server. Several threads call it at once.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Looks at a request's head before its body is read. Errors: RequestError, which refuses it.
  virtual void admit(HttpExchange& exchange) = 0;
  /// Answers a request. Errors: RequestError before the answer has begun.
  virtual void handle(HttpExchange& exchange) = 0;
  /// Answers with an error.
  virtual void refuse(HttpExchange& exchange, const RequestError& error) = 0;
};

class HttpServer {
 public:
  /// Takes connections from now on. Errors: as of Listener.
  HttpServer(const HttpOptions& options, HttpHandler& handler);
  /// Ends all connections at once.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// Takes no further connections and requests. Requests that have begun go on.
  void close();
  /// After close: waits until they have ended. Returns false if they have not by then.
  bool wait_until(Clock::time_point time);
  int64_t connections() const;

 private:
  struct Connection {
    explicit Connection(int descriptor) : socket(descriptor) {}
    Socket socket;
    bool is_busy = false, has_ended = false;  // guarded by mutex_
    Clock::time_point idle_since = Clock::now();
    std::thread thread;
  };
  using Connections = std::list<std::unique_ptr<Connection>>;
  void accept_all();
  bool make_room();
  void serve(Connection& connection);
  bool serve_request(Connection& connection, std::string& received);
  bool read_head(Connection& connection, std::string& received, std::string& head);
  void read_body(HttpExchange& exchange, Connection& connection, std::string& received) const;
  bool enter(Connection& connection);

  HttpOptions options_;
  HttpHandler& handler_;
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  Connections connections_;
  std::atomic<bool> closes_ = false;
  std::thread acceptor_;
};

}  // namespace wick::serve
