// How long a request may go on.
#pragma once
#include <atomic>
#include <chrono>

#include "serve/http_server.h"

namespace wick::serve {

class RequestWatch {
 public:
  /// ends: the server's; true once it ends its requests.
  RequestWatch(const HttpExchange& exchange, std::chrono::seconds max_time,
               const std::atomic<bool>& ends)
      : exchange_(exchange), max_time_(max_time), ends_(ends) {}

  /// Called while the request waits. Errors: ClientGone; RequestError 503 once the server ends
  /// requests or the time is over.
  void check() const {
    exchange_.check_client();
    if (ends_) throw RequestError(503, "the server is shutting down");
    if (Clock::now() - start_ > max_time_)
      throw RequestError(503, "the request took longer than the server allows", "", "timeout");
  }
  Clock::time_point start() const { return start_; }

 private:
  const HttpExchange& exchange_;
  const std::chrono::seconds max_time_;
  const std::atomic<bool>& ends_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace wick::serve
