// An error that a client gets.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "wick/base/error.h"

namespace wick::serve {

/// A status of HTTP, and the fields of OpenAI's error object.
struct RequestError : std::runtime_error {
  RequestError(int status, const std::string& message, std::string param = {},
               std::string code = {})
      : std::runtime_error(message),
        status(status),
        param(std::move(param)),
        code(std::move(code)) {}

  int status;
  std::string param;                           // the field, such as "messages[0].role", or ""
  std::string code;                            // such as "model_not_found", or ""
  std::optional<int64_t> retry_after_seconds;  // the client may try again then

  /// OpenAI's type for the status, such as "invalid_request_error".
  const char* type() const {
    switch (status) {
      case 401:
        return "authentication_error";
      case 403:
        return "permission_error";
      default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
  }
};

/// The error of wick as a client gets it. field: the one that the error is about, or "".
RequestError request_error(const Error& error, const std::string& field);

/// The exception that is being handled, a std::exception, as a client gets it.
RequestError current_request_error();

/// Returns f(), which reads a field. Errors: RequestError for an Error of f.
template <class F>
auto of_request(const std::string& field, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw request_error(error, field);
  }
}

}  // namespace wick::serve
