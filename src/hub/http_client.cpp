#include "hub/http_client.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "base/json_text.h"

namespace wick::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxRedirects = 10;            // of one request
constexpr int64_t kMaxWaitSeconds = 300;     // that a server may ask for
constexpr size_t kMaxHeadBytes = 256 << 10;  // of an answer's headers
constexpr int64_t kProgressBytes = 1 << 20;  // after which earlier failures no longer count
constexpr std::chrono::milliseconds kTick(100), kLater(200), kFirstWait(500);

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
bool is_success(long status) { return status == 200 || status == 206; }
/// Whether another attempt may get another status.
bool is_passing(long status) {
  return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501);
}

/// Whether no further attempt can help: the machine's own settings are wrong.
bool is_settled(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}
/// Whether no server was reached.
bool is_without_server(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_OPERATION_TIMEDOUT;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = char(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t from = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(from);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

/// The seconds of `"api";r=0;t=55`, after which the hub takes requests again; 0 if it says none.
/// Source: draft-ietf-httpapi-ratelimit-headers-09, section 3.2.
int64_t seconds_of_limit(const std::string& limit) {
  const size_t at = limit.find(";t=");
  int64_t seconds = 0;
  if (at != limit.npos)
    std::from_chars(limit.data() + at + 3, limit.data() + limit.size(), seconds);
  return seconds > 0 ? std::min<int64_t>(seconds, INT32_MAX) + 1 : 0;  // the hub rounds down
}

}  // namespace

std::string shown_url(const std::string& url) { return url.substr(0, url.find_first_of("?#")); }

const std::string& AnswerHead::header(const std::string& name) const {
  static const std::string missing;
  const auto found = headers.find(name);
  return found == headers.end() ? missing : found->second;
}

std::string url_quote(std::string_view text, bool keep_slashes) {
  std::string quoted;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~' ||
        (c == '/' && keep_slashes)) {
      quoted += c;
      continue;
    }
    constexpr const char* kDigits = "0123456789ABCDEF";
    quoted += '%';
    quoted += kDigits[byte >> 4];
    quoted += kDigits[byte & 15];
  }
  return quoted;
}

/// A transfer with its request of the moment.
struct HttpClient::Running {
  enum class State { kWaiting, kSent, kDone };

  Running(const CurlLibrary& library, Transfer& of) : curl(library), transfer(of) {}
  ~Running() {
    if (headers) curl.slist_free_all(headers);
    if (easy) curl.easy_cleanup(easy);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static size_t on_header(char* bytes, size_t size, size_t count, void* data) {
    auto& self = *static_cast<Running*>(data);
    const std::string_view line(bytes, size * count);
    return self.guarded([&] { self.add_header(line); }) ? line.size() : 0;
  }
  static size_t on_body(char* bytes, size_t size, size_t count, void* data) {
    auto& self = *static_cast<Running*>(data);
    const std::string_view part(bytes, size * count);
    return self.guarded([&] { self.add_body(part); }) ? part.size() : 0;
  }

  /// Calls f, whose exceptions must not pass through libcurl. Returns whether it threw none.
  template <class F>
  bool guarded(const F& f) {
    try {
      f();
      return true;
    } catch (...) {
      failure = std::current_exception();
      return false;
    }
  }

  void add_header(std::string_view line) {
    // A new answer, such as the one after "100 Continue".
    if (line.starts_with("HTTP/")) head.headers.clear(), head_bytes = 0;
    last_bytes = Clock::now();
    head_bytes += line.size();
    if (head_bytes > kMaxHeadBytes) throw PassingFailure{"the answer's headers do not end"};
    const size_t colon = line.find(':');
    if (colon == line.npos) return;
    head.headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }

  void add_body(std::string_view part) {
    last_bytes = Clock::now();
    begin();
    if (!is_success(head.status)) return;  // a page for people
    transfer.take(part);
    bytes += int64_t(part.size());
    if (bytes >= kProgressBytes) failures = 0;
  }

  void begin() {
    if (begun) return;
    begun = true;
    curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &head.status);
    if (is_success(head.status)) transfer.begin(head);
  }

  const CurlLibrary& curl;
  Transfer& transfer;
  State state = State::kWaiting;
  Clock::time_point not_before = Clock::now();
  int failures = 0;

  // Of the request:
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  char reason[CURL_ERROR_SIZE] = "";
  std::string url;
  int redirects = 0;
  AnswerHead head;
  size_t head_bytes = 0;
  int64_t bytes = 0;
  Clock::time_point last_bytes;
  bool begun = false;
  std::exception_ptr failure;
};

HttpClient::HttpClient(const HubSettings& settings, Hooks hooks)
    : curl_(CurlLibrary::get()),
      settings_(settings),
      hooks_(std::move(hooks)),
      endpoint_(origin_of(settings.endpoint, "HF_ENDPOINT")),
      multi_(curl_.multi_init()) {
  if (!multi_) throw std::bad_alloc();
}

HttpClient::~HttpClient() { curl_.multi_cleanup(multi_); }

/// By libcurl's own reading of URLs, so that the token goes where it connects to.
HttpClient::Origin HttpClient::origin_of(const std::string& url, const std::string& subject) const {
  const std::unique_ptr<CURLU, decltype(curl_.url_cleanup)> parsed(curl_.url(), curl_.url_cleanup);
  if (!parsed) throw std::bad_alloc();
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    const CURLUcode code = curl_.url_get(parsed.get(), which, &text, CURLU_DEFAULT_PORT);
    const std::unique_ptr<char, decltype(curl_.free)> owned(text, curl_.free);
    return code == CURLUE_OK && text ? lower(text) : std::string();
  };
  const CURLUcode code = curl_.url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  Origin origin{part(CURLUPART_SCHEME), part(CURLUPART_HOST), part(CURLUPART_PORT)};
  check(code == CURLUE_OK && !origin.host.empty() &&
            (origin.scheme == "http" || origin.scheme == "https"),
        ErrorCode::kInvalidArgument, subject, "expected a URL of http or https, got ",
        json_quote(shown_url(url)));
  return origin;
}

void HttpClient::run(std::span<Transfer* const> transfers, size_t at_once) {
  std::vector<std::unique_ptr<Running>> all;
  for (Transfer* const transfer : transfers)
    all.push_back(std::make_unique<Running>(curl_, *transfer));
  // Handles leave the connections before they are destroyed, whatever ends this function.
  struct Detacher {
    const CurlLibrary& curl;
    CURLM* multi;
    std::vector<std::unique_ptr<Running>>& all;
    ~Detacher() {
      for (const auto& running : all)
        if (running->easy) curl.multi_remove_handle(multi, running->easy);
    }
  } const detacher{curl_, multi_, all};
  const auto count = [&](Running::State state) {
    return size_t(std::count_if(all.begin(), all.end(),
                                [&](const auto& running) { return running->state == state; }));
  };
  while (count(Running::State::kDone) < all.size()) {
    size_t sent = count(Running::State::kSent);
    Clock::time_point next = Clock::now() + kTick;
    for (const auto& running : all) {
      if (running->state != Running::State::kWaiting || sent >= at_once) continue;
      if (running->not_before <= Clock::now()) start(*running);
      if (running->state == Running::State::kSent) sent++;
      if (running->state == Running::State::kWaiting) next = std::min(next, running->not_before);
    }
    int active = 0;
    CURLMcode code = curl_.multi_perform(multi_, &active);
    int left = 0;
    while (CURLMsg* const message = curl_.multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURL* const easy = message->easy_handle;
      const CURLcode result = message->data.result;  // the message ends with the handle's removal
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const auto& running) { return running->easy == easy; });
      finish(**found, result);
      next = Clock::now();
    }
    for (const auto& running : all)
      if (running->state == Running::State::kSent) end_if_stalled(*running);
    if (hooks_.tick) hooks_.tick();
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    if (code == CURLM_OK && wait > 0)
      code = curl_.multi_poll(multi_, nullptr, 0, int(wait), nullptr);
    check(code == CURLM_OK, ErrorCode::kIo, "hub", "libcurl: ", curl_.multi_strerror(code));
  }
}

void HttpClient::start(Running& running) {
  try {
    switch (running.transfer.prepare()) {
      case Transfer::Step::kRequest:
        running.url = running.transfer.url();
        running.redirects = 0;
        return send(running);
      case Transfer::Step::kAgain:
        running.not_before = Clock::now();
        return;
      case Transfer::Step::kLater:
        running.not_before = Clock::now() + kLater;
        return;
      case Transfer::Step::kDone:
        running.state = Running::State::kDone;
        return;
    }
  } catch (const PassingFailure& failure) {
    retry(running, failure.text, 0, false);
  }
}

/// Sends the request to running.url.
void HttpClient::send(Running& running) {
  const Origin origin = origin_of(running.url, running.transfer.subject());
  check(endpoint_.scheme == "http" || origin.scheme == "https", ErrorCode::kIo,
        running.transfer.subject(), "the hub redirects to ", shown_url(running.url),
        ", which is not protected as ", settings_.endpoint, " is");
  if (!running.easy) running.easy = curl_.easy_init();
  if (!running.easy) throw std::bad_alloc();
  curl_.easy_reset(running.easy);
  running.head = {};
  running.head.is_of_endpoint = origin == endpoint_;
  running.head_bytes = 0;
  running.bytes = 0;
  running.last_bytes = Clock::now();
  running.begun = false;
  running.failure = nullptr;
  running.reason[0] = 0;

  if (running.headers) curl_.slist_free_all(running.headers);
  running.headers = nullptr;
  const auto add_header = [&](const std::string& line) {
    curl_slist* const longer = curl_.slist_append(running.headers, line.c_str());
    if (!longer) throw std::bad_alloc();
    running.headers = longer;
  };
  add_header("Accept-Encoding: identity");
  if (running.head.is_of_endpoint && !settings_.token.empty())
    add_header("Authorization: Bearer " + settings_.token);
  if (const int64_t first = running.transfer.first_byte(); first > 0)
    add_header("Range: bytes=" + std::to_string(first) + "-");

  const auto set = [&](CURLoption option, auto value) {
    curl_.easy_setopt(running.easy, option, value);
  };
  set(CURLOPT_URL, running.url.c_str());
  set(CURLOPT_HTTPHEADER, running.headers);
  set(CURLOPT_USERAGENT, "wick");
  set(CURLOPT_PROTOCOLS, long(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_CONNECTTIMEOUT, long(settings_.timeout_seconds));
  set(CURLOPT_TIMEOUT, long(running.transfer.max_seconds));
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_ERRORBUFFER, running.reason);
  if (!settings_.certificates.empty()) set(CURLOPT_CAINFO, settings_.certificates.c_str());
  set(CURLOPT_HEADERFUNCTION, &Running::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&running));
  set(CURLOPT_WRITEFUNCTION, &Running::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&running));
  const CURLMcode code = curl_.multi_add_handle(multi_, running.easy);
  check(code == CURLM_OK, ErrorCode::kIo, "hub", "libcurl: ", curl_.multi_strerror(code));
  running.state = Running::State::kSent;
}

/// Ends a request whose server is silent. libcurl's own limit is on the mean of several seconds.
void HttpClient::end_if_stalled(Running& running) {
  // Connecting has libcurl's limit, whose errors say more.
  const std::chrono::seconds limit(settings_.timeout_seconds +
                                   (running.head.headers.empty() ? 1 : 0));
  if (Clock::now() < running.last_bytes + limit) return;
  std::snprintf(running.reason, sizeof running.reason, "no byte for %lld s",
                static_cast<long long>(limit.count()));
  finish(running, CURLE_OPERATION_TIMEDOUT);
}

void HttpClient::finish(Running& running, CURLcode code) {
  curl_.multi_remove_handle(multi_, running.easy);
  running.state = Running::State::kWaiting;
  try {
    if (running.failure) std::rethrow_exception(running.failure);
    if (code == CURLE_OK) return finish_answer(running);
  } catch (const PassingFailure& failure) {
    return retry(running, failure.text, 0, false);
  }
  const std::string reason = running.reason[0] ? running.reason : curl_.easy_strerror(code);
  retry(running, reason, 0,
        is_settled(code) || (running.transfer.fails_fast && is_without_server(code)));
}

/// A whole answer has arrived. May throw PassingFailure.
void HttpClient::finish_answer(Running& running) {
  running.begin();
  const AnswerHead& head = running.head;
  if (is_redirect(head.status)) return follow(running);
  if (is_success(head.status)) {
    running.transfer.end();
    running.state = Running::State::kDone;
    return;
  }
  // A link with a signature may have expired; the hub makes another one.
  const bool is_old_link = !head.is_of_endpoint && head.status == 403;
  if (head.status == 416)
    running.transfer.restart();
  else if (!is_passing(head.status) && !is_old_link)
    throw Refusal{head, running.url, running.transfer.subject()};
  curl_off_t seconds = 0;
  curl_.easy_getinfo(running.easy, CURLINFO_RETRY_AFTER, &seconds);
  if (seconds == 0 && head.status == 429) seconds = seconds_of_limit(head.header("ratelimit"));
  retry(running, "status " + std::to_string(head.status), int64_t(seconds), false);
}

void HttpClient::follow(Running& running) {
  char* target = nullptr;
  curl_.easy_getinfo(running.easy, CURLINFO_REDIRECT_URL, &target);
  if (!target) throw PassingFailure{"a redirect without a place"};
  if (++running.redirects > kMaxRedirects)
    fail(ErrorCode::kIo, running.transfer.subject(), shown_url(running.transfer.url()),
         " redirects without an end");
  running.url = target;
  send(running);
}

/// Lets the transfer begin again after a while, or fails. seconds_asked: by the server; 0: none.
void HttpClient::retry(Running& running, const std::string& reason, int64_t seconds_asked,
                       bool is_final) {
  const std::string text =
      running.transfer.subject() + ": " + shown_url(running.url) + ": " + reason;
  running.failures++;
  if (is_final || running.failures >= running.transfer.max_failures)
    throw UnreachableError(is_final || running.failures == 1
                               ? text
                               : text + ", after " + std::to_string(running.failures) +
                                     " attempts");
  if (seconds_asked > kMaxWaitSeconds)
    throw UnreachableError(text + "; the server asks to wait " + std::to_string(seconds_asked) +
                           " s");
  const Clock::duration wait = seconds_asked > 0
                                   ? Clock::duration(std::chrono::seconds(seconds_asked))
                                   : kFirstWait * (1 << (running.failures - 1));
  if (seconds_asked > 1 && hooks_.note)
    hooks_.note(text + "; again in " + std::to_string(seconds_asked) + " s");
  running.not_before = Clock::now() + wait;
  running.state = Running::State::kWaiting;
}

}  // namespace wick::hub
