#include "serve/request_error.h"

#include <new>

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

RequestError current_request_error() {
  try {
    throw;
  } catch (const RequestError& error) {
    return error;
  } catch (const Error& error) {
    return request_error(error, "");
  } catch (const std::bad_alloc&) {
    return RequestError(500, "out of memory");
  } catch (const std::exception& error) {
    return RequestError(500, std::string("internal error: ") + error.what());
  }
}

}  // namespace wick::serve
