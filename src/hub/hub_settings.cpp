#include "hub/hub_settings.h"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/environment.h"
#include "base/file.h"
#include "wick/base/file_error.h"

namespace wick::hub {
namespace {

constexpr const char* kEndpoint = "https://huggingface.co";

/// A path with "~" at its start and $NAME or ${NAME} replaced, as Python's os.path does. Unknown
/// variables stay as they are.
std::string expanded(std::string path) {
  if (path == "~" || path.starts_with("~/"))
    if (const auto home = environment("HOME")) path.replace(0, 1, *home);
  std::string result;
  for (size_t at = 0; at < path.size();) {
    const bool in_braces = path.compare(at, 2, "${") == 0;
    const size_t from = at + (in_braces ? 2 : 1);
    size_t to = from;
    while (path[at] == '$' && to < path.size() &&
           (std::isalnum(static_cast<unsigned char>(path[to])) || path[to] == '_'))
      to++;
    const bool is_name = to > from && (!in_braces || (to < path.size() && path[to] == '}'));
    const auto value = is_name ? environment(path.substr(from, to - from).c_str()) : std::nullopt;
    if (!value) {
      result += path[at++];
      continue;
    }
    result += *value;
    at = in_braces ? to + 1 : to;
  }
  return result;
}

/// The value of the first of these variables that is set.
std::optional<std::string> first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = environment(name)) return value;
  return std::nullopt;
}

bool is_true(std::initializer_list<const char*> names) {
  std::string value = first_of(names).value_or("");
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string read_endpoint() {
  std::string endpoint = environment("HF_ENDPOINT").value_or(kEndpoint);
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool is_url = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  const bool is_plain =
      std::all_of(endpoint.begin(), endpoint.end(), [](char c) { return c > ' ' && c != 0x7f; });
  check(is_url && is_plain, ErrorCode::kInvalidArgument, "HF_ENDPOINT", "expected a URL such as ",
        kEndpoint, ", got \"", endpoint, "\"");
  return endpoint;
}

std::string home_folder() {
  const std::string cache = first_of({"XDG_CACHE_HOME"}).value_or("~/.cache");
  return expanded(environment("HF_HOME").value_or(cache + "/huggingface"));
}

/// Without the white space around it. Errors: kInvalidArgument if it cannot stand in a header.
std::string clean_token(std::string token, const std::string& source) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!token.empty() && is_space(token.back())) token.pop_back();
  token.erase(0, size_t(std::find_if_not(token.begin(), token.end(), is_space) - token.begin()));
  check(std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; }),
        ErrorCode::kInvalidArgument, source,
        "expected a token of the hub, got other characters than one has");
  return token;
}

void read_token(const std::string& home, HubSettings& settings) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    settings.token = clean_token(environment(name).value_or(""), name);
    settings.token_source = name;
    if (!settings.token.empty()) return;
  }
  settings.token_source.clear();
  if (is_true({"HF_HUB_DISABLE_IMPLICIT_TOKEN"})) return;
  const std::string path = expanded(environment("HF_TOKEN_PATH").value_or(home + "/token"));
  try {
    settings.token = clean_token(read_text_file(path), path);
    if (!settings.token.empty()) settings.token_source = path;
  } catch (const FileError&) {
    return;  // public models need no token
  }
}

}  // namespace

HubSettings read_settings() {
  HubSettings settings;
  settings.endpoint = read_endpoint();
  const std::string home = home_folder();
  settings.cache =
      expanded(first_of({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}).value_or(home + "/hub"));
  while (settings.cache.size() > 1 && settings.cache.ends_with('/')) settings.cache.pop_back();
  read_token(home, settings);
  settings.offline = is_true({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"});
  settings.certificates =
      first_of({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}).value_or("");
  settings.timeout_seconds =
      environment_integer("HF_HUB_DOWNLOAD_TIMEOUT", 1, 86400).value_or(settings.timeout_seconds);
  return settings;
}

}  // namespace wick::hub
