#include "serve/text_answer.h"

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
  while (const std::optional<TextFeed::Update> update = next(feed)) {
    const int64_t index = int64_t(update->index);
    if (update->has_ended) continue;
    form_.read(index, update->piece);
    if (form_.is_complete(index)) feed.cancel(update->index);
  }
  respond_json(exchange_, form_.whole(feed, usage_));
}

void TextAnswer::send_parts(TextFeed& feed) {
  exchange_.headers.push_back({"Cache-Control", "no-cache"});
  exchange_.headers.push_back({"X-Accel-Buffering", "no"});  // nginx passes events on at once
  exchange_.begin(200, "text/event-stream");
  try {
    send_events(feed);
  } catch (const ClientGone&) {
    throw;
  } catch (const std::exception&) {
    // An answer that has begun must end, or the connection's next one would continue it.
    const RequestError error = current_request_error();
    exchange_.closes = true;
    write(form_.failure(error));
    exchange_.end();
    throw error;
  }
  exchange_.end();
}

void TextAnswer::send_events(TextFeed& feed) {
  write(form_.first(feed.size()));
  while (const std::optional<TextFeed::Update> update = next(feed)) {
    const int64_t index = int64_t(update->index);
    write(update->has_ended ? form_.last(index, feed.result(update->index))
                            : form_.part(index, update->piece));
    if (!update->has_ended && form_.is_complete(index)) feed.cancel(update->index);
  }
  write(form_.end(usage_));
}

void TextAnswer::write(const std::string& text) {
  if (text.empty()) return;
  exchange_.write(text);
  last_write_ = Clock::now();
}

void TextAnswer::keep_alive() {
  constexpr auto kLongest = std::chrono::seconds(15);
  if (exchange_.status() != 0 && Clock::now() - last_write_ > kLongest) write(":\n\n");
}

}  // namespace wick::serve
