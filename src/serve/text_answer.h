// The texts of one request on their way to the client.
#pragma once
#include <optional>

#include "serve/choices.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/text_feed.h"

namespace wick::serve {

class TextAnswer {
 public:
  /// usage: has the prompts' tokens; the others are added as they come.
  TextAnswer(HttpExchange& exchange, const TextOptions& options, AnswerHead head, ChoiceForm& form,
             Metrics& metrics, Usage& usage)
      : exchange_(exchange),
        options_(options),
        head_(std::move(head)),
        form_(form),
        metrics_(metrics),
        usage_(usage) {}

  /// Answers once all texts have ended. Errors: as of TextFeed::next.
  void send_whole(TextFeed& feed);
  /// Answers with events. An error is an event too, and thrown.
  void send_parts(TextFeed& feed);
  /// Sends a comment if the client has got nothing for long, so that proxies keep the connection.
  void keep_alive();

 private:
  std::optional<TextFeed::Update> next(TextFeed& feed);
  void send_events(TextFeed& feed);
  void send(std::optional<Settings> choice);
  void write(const std::string& text);

  HttpExchange& exchange_;
  const TextOptions& options_;
  AnswerHead head_;
  ChoiceForm& form_;
  Metrics& metrics_;
  Usage& usage_;
  Clock::time_point start_ = Clock::now(), last_piece_ = start_, last_write_ = start_;
  bool has_piece_ = false;
};

}  // namespace wick::serve
