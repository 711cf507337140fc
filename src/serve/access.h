// Who may use a server: hosts, origins of pages, keys.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "serve/http_server.h"
#include "wick/serve/server.h"

namespace wick::serve {

/// Whether the given key is one of the keys. The time depends on the lengths alone.
bool is_one_of(std::string_view given, const std::vector<std::string>& keys);

/// The host of a Host header, in lower case and without the port; an IPv6 address in its brackets.
std::string host_of(std::string_view host_and_port);

class Access {
 public:
  explicit Access(const ServerOptions& options);

  /// A page of another site can send requests from a browser whose user can reach this server. Its
  /// Host is its own name, or its Origin is another one. Errors: RequestError 403.
  /// Adds the headers of CORS to the answer if the origin is allowed.
  void check_site(HttpExchange& exchange) const;
  /// Errors: RequestError 401.
  void check_key(const HttpRequest& request) const;
  /// Whether a browser asks for the requests that its page may send, and the origin is allowed.
  bool is_preflight(const HttpRequest& request) const;

 private:
  bool is_allowed_host(const std::string& host) const;

  std::vector<std::string> keys_, origins_, hosts_;
};

}  // namespace wick::serve
