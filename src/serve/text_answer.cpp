#include "serve/text_answer.h"

#include "wick/io/json.h"

namespace wick::serve {
namespace {

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::optional<TextFeed::Update> TextAnswer::next(TextFeed& feed) {
  std::optional<TextFeed::Update> update = feed.next();
  if (!update) return update;
  usage_.completion_tokens += int64_t(update->piece.ids.size());
  if (update->has_ended) {
    // A prompt's choices share it.
    const bool is_first = int64_t(update->index) % options_.choices == 0;
    if (is_first) usage_.cached_tokens += feed.result(update->index).cached_tokens;
    return update;
  }
  const Clock::time_point now = Clock::now();
  if (has_piece_)
    metrics_.add_between_tokens(seconds(now - last_piece_));
  else
    metrics_.add_first_token(seconds(now - start_));
  has_piece_ = true;
  last_piece_ = now;
  return update;
}

void TextAnswer::send_whole(TextFeed& feed) {
  while (next(feed)) {
  }
  Setting::List choices;
  for (size_t i = 0; i < feed.size(); i++)
    choices.push_back(form_.whole(int64_t(i), feed.result(i)));
  Settings body = with_head(head_);
  body.set("choices", std::move(choices)).set("usage", usage_object(usage_));
  respond_json(exchange_, body);
}

void TextAnswer::send_parts(TextFeed& feed) {
  exchange_.headers.push_back({"Cache-Control", "no-cache"});
  exchange_.headers.push_back({"X-Accel-Buffering", "no"});  // nginx passes events on at once
  exchange_.begin(200, "text/event-stream");
  try {
    send_events(feed);
  } catch (const RequestError& error) {
    exchange_.closes = true;
    write(event(error_object(error)));
    exchange_.end();
    throw;
  }
  write(kLastEvent);
  exchange_.end();
}

void TextAnswer::send_events(TextFeed& feed) {
  for (size_t i = 0; i < feed.size(); i++)
    if (std::optional<Settings> choice = form_.first(int64_t(i))) send(std::move(choice));
  while (const std::optional<TextFeed::Update> update = next(feed)) {
    const int64_t index = int64_t(update->index);
    const EnginePiece& piece = update->piece;
    if (update->has_ended)
      send(form_.last(index, feed.result(update->index)));
    else if (!piece.text.empty() || !piece.tokens.empty())
      send(form_.part(index, piece));
  }
  if (options_.includes_usage) send({});
}

/// Sends an event with the choice, or with the usage.
void TextAnswer::send(std::optional<Settings> choice) {
  Settings chunk = with_head(head_);
  const Setting usage = choice ? Setting() : Setting(usage_object(usage_));
  chunk.set("choices", choice ? Setting::List{std::move(*choice)} : Setting::List());
  if (options_.includes_usage) chunk.set("usage", usage);
  write(event(chunk));
}

void TextAnswer::write(const std::string& text) {
  exchange_.write(text);
  last_write_ = Clock::now();
}

void TextAnswer::keep_alive() {
  constexpr auto kLongest = std::chrono::seconds(15);
  if (exchange_.status() != 0 && Clock::now() - last_write_ > kLongest) write(":\n\n");
}

}  // namespace wick::serve
