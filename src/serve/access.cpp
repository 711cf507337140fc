#include "serve/access.h"

#include <arpa/inet.h>

#include <algorithm>

namespace wick::serve {
namespace {

/// An address can be no other machine's name, whatever a site's name server says.
bool is_address(const std::string& host) {
  in_addr v4;
  in6_addr v6;
  if (host.starts_with('[') && host.ends_with(']'))
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) == 1;
  return inet_pton(AF_INET, host.c_str(), &v4) == 1;
}

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

bool is_one_of(std::string_view given, const std::vector<std::string>& keys) {
  bool found = false;
  for (const std::string& key : keys) {
    if (key.empty()) continue;
    size_t differs = given.size() ^ key.size();
    for (size_t i = 0; i < given.size(); i++)
      differs |= uint8_t(given[i]) ^ uint8_t(key[i % key.size()]);
    found |= differs == 0;
  }
  return found;
}

std::string host_of(std::string_view text) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == text.npos) return lower_case(text);
  return lower_case(text.substr(0, text.find(':', bracket)));
}

Access::Access(const ServerOptions& options)
    : keys_(options.api_keys), origins_(options.cors_origins), hosts_(options.allowed_hosts) {
  for (std::string& host : hosts_) host = lower_case(host);
  hosts_.push_back("localhost");
  hosts_.push_back(lower_case(options.host));
}

bool Access::is_allowed_host(const std::string& host) const {
  return has(hosts_, "*") || is_address(host) || has(hosts_, host);
}

void Access::check_site(HttpExchange& exchange) const {
  const HttpRequest& request = exchange.request;
  const std::string* const host = request.find("host");
  if (host && !is_allowed_host(host_of(*host)))
    throw RequestError(
        403, "Host: expected localhost, an address or a name given by --allow-host, got " + *host,
        "", "host_not_allowed");
  const std::string* const origin = request.find("origin");
  if (!origin) return;
  if (has(origins_, *origin) || has(origins_, "*")) {
    exchange.headers.push_back({"Access-Control-Allow-Origin", has(origins_, "*") ? "*" : *origin});
    exchange.headers.push_back({"Vary", "Origin"});
    exchange.headers.push_back({"Access-Control-Expose-Headers", "Retry-After"});
    return;
  }
  // A page of this server itself.
  const std::string_view scheme = "http://";
  if (host && *origin == std::string(scheme) + *host) return;
  throw RequestError(403, "Origin: expected no page or one of --cors, got " + *origin, "",
                     "origin_not_allowed");
}

bool Access::is_preflight(const HttpRequest& request) const {
  const std::string* const origin = request.find("origin");
  return request.method == "OPTIONS" && origin && (has(origins_, *origin) || has(origins_, "*"));
}

void Access::check_key(const HttpRequest& request) const {
  if (keys_.empty()) return;
  const std::string* const given = request.find("authorization");
  if (!given)
    throw RequestError(401, "expected a key: Authorization: Bearer KEY", "", "missing_api_key");
  constexpr std::string_view kScheme = "bearer ";
  const bool is_bearer = lower_case(std::string_view(*given).substr(0, kScheme.size())) == kScheme;
  if (!is_bearer || !is_one_of(std::string_view(*given).substr(kScheme.size()), keys_))
    throw RequestError(401, "the key is not one of this server's", "", "invalid_api_key");
}

}  // namespace wick::serve
