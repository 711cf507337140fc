#include "serve/request_error.h"

namespace wick::serve {

RequestError request_error(const Error& error, const std::string& field) {
  switch (error.code()) {
    case ErrorCode::kOutOfMemory: {
      RequestError busy(503, error.what(), "", "server_busy");
      busy.retry_after_seconds = 1;
      return busy;
    }
    case ErrorCode::kOutOfRange:
      return RequestError(400, error.what(), field, "context_length_exceeded");
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
    case ErrorCode::kFormat:
      return RequestError(400, error.what(), field, "invalid_value");
    default:
      return RequestError(500, error.what());
  }
}

}  // namespace wick::serve
