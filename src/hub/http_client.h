// Requests to the hub: redirects, retries, waits, and the rule of where the token goes.
#pragma once
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "hub/curl_library.h"
#include "hub/hub_settings.h"
#include "wick/base/file_error.h"

namespace wick::hub {

/// The status and the headers of an answer.
struct AnswerHead {
  long status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  bool is_of_endpoint = true;                  // false: of a server that a redirect names

  /// The header's value; "" if it is missing.
  const std::string& header(const std::string& name) const;
};

/// A failure that may pass: the request is made again.
struct PassingFailure {
  std::string text;
};

/// An answer that no retry will change, such as of status 404.
struct Refusal {
  AnswerHead head;
  std::string url;
  std::string subject;  // of the transfer
};

/// No answer of the hub, after all attempts.
struct UnreachableError : FileError {
  explicit UnreachableError(const std::string& text) : FileError(EHOSTUNREACH, text) {}
};

/// One GET. The client calls the functions from the thread that runs it. They may throw Error, which
/// ends all requests, and all but first_byte and restart may throw PassingFailure, after which the
/// client begins again with prepare().
class Transfer {
 public:
  /// subject: begins errors.
  Transfer(std::string url, std::string subject)
      : url_(std::move(url)), subject_(std::move(subject)) {}
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  enum class Step {
    kRequest,  // send the request
    kAgain,    // call prepare once more, after other requests have had their turn
    kLater,    // the same, after a while
    kDone,     // no request is needed
  };
  virtual Step prepare() { return Step::kRequest; }
  /// The first byte to ask for; 0 asks for all without a range.
  virtual int64_t first_byte() const { return 0; }
  /// An answer of status 200, or 206 with a range.
  virtual void begin(const AnswerHead&) {}
  /// Bytes of its body.
  virtual void take(std::string_view bytes) = 0;
  /// The body has ended.
  virtual void end() {}
  /// The server has no bytes from first_byte() on: the next request must ask for all.
  virtual void restart() {}

  const std::string& url() const { return url_; }
  const std::string& subject() const { return subject_; }
  /// Seconds that an answer may take in all; 0: as long as bytes arrive.
  int64_t max_seconds = 0;
  /// Failures in a row that end it.
  int max_failures = 5;
  /// Whether a server that cannot be reached is an error at once.
  bool fails_fast = false;

 private:
  std::string url_, subject_;
};

/// Sends requests, several at a time, over connections that it keeps.
class HttpClient {
 public:
  struct Hooks {
    std::function<void()>
        tick;  // called at least ten times a second; may throw to end all requests
    std::function<void(const std::string& text)> note;  // of waits
  };
  /// Errors: kRuntimeMissing if there is no libcurl; kInvalidArgument if the endpoint is no URL.
  HttpClient(const HubSettings& settings, Hooks hooks);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Runs the transfers to their ends, at most `at_once` requests at a time.
  /// Errors: of the transfers; UnreachableError after too many failures; throws Refusal.
  void run(std::span<Transfer* const> transfers, size_t at_once = 1);

 private:
  struct Origin {
    std::string scheme, host, port;
    bool operator==(const Origin&) const = default;
  };
  struct Running;

  Origin origin_of(const std::string& url, const std::string& subject) const;
  void start(Running& running);
  void send(Running& running);
  void end_if_stalled(Running& running);
  void finish(Running& running, CURLcode code);
  void finish_answer(Running& running);
  void follow(Running& running);
  void retry(Running& running, const std::string& reason, int64_t seconds_asked, bool is_final);

  const CurlLibrary& curl_;
  const HubSettings& settings_;
  Hooks hooks_;
  Origin endpoint_;
  CURLM* multi_ = nullptr;
};

/// A URL without its query, which may be a signature.
std::string shown_url(const std::string& url);
/// The text in the form that paths of URLs have; slashes stay if keep_slashes.
std::string url_quote(std::string_view text, bool keep_slashes);

}  // namespace wick::hub
