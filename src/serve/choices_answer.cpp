#include "serve/choices_answer.h"

namespace wick::serve {

Settings ChoicesAnswer::whole(const TextFeed& feed, const Usage& usage) {
  Setting::List choices;
  for (size_t i = 0; i < feed.size(); i++)
    choices.push_back(form_->whole(int64_t(i), feed.result(i)));
  Settings body = with_head(head_);
  body.set("choices", std::move(choices))
      .set("usage", usage_object(usage, form_->reasoning_tokens()));
  return body;
}

/// An event. usage: null beside choices.
std::string ChoicesAnswer::chunk(Setting::List choices, Setting usage) const {
  Settings chunk = with_head(head_);
  chunk.set("choices", std::move(choices));
  if (includes_usage_) chunk.set("usage", std::move(usage));
  return event(chunk);
}

std::string ChoicesAnswer::first(size_t texts) {
  std::string events;
  for (size_t i = 0; i < texts; i++)
    if (std::optional<Settings> choice = form_->first(int64_t(i)))
      events += chunk({std::move(*choice)}, nullptr);
  return events;
}

std::string ChoicesAnswer::part(int64_t index, const EnginePiece& piece) {
  std::optional<Settings> choice = form_->part(index, piece);
  return choice ? chunk({std::move(*choice)}, nullptr) : "";
}

std::string ChoicesAnswer::last(int64_t index, const EngineText& text) {
  std::string events;
  for (Settings& choice : form_->last(index, text)) events += chunk({std::move(choice)}, nullptr);
  return events;
}

std::string ChoicesAnswer::end(const Usage& usage) {
  return (includes_usage_ ? chunk({}, usage_object(usage, form_->reasoning_tokens())) : "") +
         kLastEvent;
}

std::string ChoicesAnswer::failure(const RequestError& error) { return event(error_object(error)); }

}  // namespace wick::serve
