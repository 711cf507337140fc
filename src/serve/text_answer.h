// The texts of one request on their way to the client.
#pragma once
#include <optional>

#include "serve/answer_form.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/text_feed.h"

namespace wick::serve {

class TextAnswer {
 public:
  /// usage: has the prompts' tokens; the others are added as they come.
  TextAnswer(HttpExchange& exchange, const TextOptions& options, AnswerForm& form, Metrics& metrics,
             Usage& usage)
      : exchange_(exchange), options_(options), form_(form), metrics_(metrics), usage_(usage) {}

  /// Answers once all texts have ended. Errors: as of TextFeed::next.
  void send_whole(TextFeed& feed);
  /// Answers with events. An error is an event too, and thrown.
  void send_parts(TextFeed& feed);
  /// Sends a comment if the client has got nothing for long, so that proxies keep the connection.
  void keep_alive();

 private:
  std::optional<TextFeed::Update> next(TextFeed& feed);
  void send_events(TextFeed& feed);
  void write(const std::string& text);

  HttpExchange& exchange_;
  const TextOptions& options_;
  AnswerForm& form_;
  Metrics& metrics_;
  Usage& usage_;
  Clock::time_point start_ = Clock::now(), last_piece_ = start_, last_write_ = start_;
  bool has_piece_ = false;
};

}  // namespace wick::serve
