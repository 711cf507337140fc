#include "serve/response_answer.h"

#include <cstring>
#include <ctime>

#include "wick/io/json.h"

namespace wick::serve {
namespace {

/// The value of the body's field, or another one.
Setting given(const Fields& body, std::string_view key, Setting otherwise) {
  const Setting* const found = body.find(key);
  return found ? *found : otherwise;
}

Settings response_usage(const Usage& usage) {
  Settings s, input, output;
  input.set("cached_tokens", usage.cached_tokens).set("cache_write_tokens", 0);
  output.set("reasoning_tokens", 0);
  s.set("input_tokens", usage.prompt_tokens).set("input_tokens_details", std::move(input));
  s.set("output_tokens", usage.completion_tokens);
  s.set("output_tokens_details", std::move(output));
  s.set("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  return s;
}

Settings text_config(const Fields& body) {
  Settings config, plain;
  plain.set("type", "text");
  const std::optional<Fields> text = body.object("text");
  config.set("format", text ? given(*text, "format", plain) : Setting(plain));
  return config;
}

Settings reasoning_config(const Fields& body) {
  Settings config;
  const std::optional<Fields> reasoning = body.object("reasoning");
  config.set("effort", reasoning ? given(*reasoning, "effort", nullptr) : Setting());
  config.set("summary", nullptr);
  return config;
}

}  // namespace

ResponseAnswer::ResponseAnswer(const std::string& model, const Fields& body,
                               const TextOptions& options, const TokenTexts* texts)
    : texts_(texts), message_id_(random_id("msg_")) {
  head_.set("id", random_id("resp_")).set("object", "response");
  head_.set("created_at", int64_t(std::time(nullptr))).set("model", model);
  echo_.set("instructions", given(body, "instructions", nullptr));
  echo_.set("max_output_tokens", given(body, "max_output_tokens", nullptr));
  echo_.set("metadata", given(body, "metadata", Settings()));
  echo_.set("parallel_tool_calls", given(body, "parallel_tool_calls", true));
  echo_.set("previous_response_id", nullptr);
  echo_.set("reasoning", reasoning_config(body));
  echo_.set("store", false);
  echo_.set("temperature", options.sampling.temperature);
  echo_.set("text", text_config(body));
  echo_.set("tool_choice", given(body, "tool_choice", "auto"));
  echo_.set("tools", given(body, "tools", Setting::List()));
  echo_.set("top_p", options.sampling.top_p);
  echo_.set("truncation", "disabled");
}

/// The object that all events and the whole answer have. failure replaces its error.
Settings ResponseAnswer::response(const char* status, Setting::List output, Setting usage) const {
  Settings s = head_;
  s.set("status", status).set("error", nullptr);
  Setting details;
  if (std::strcmp(status, "incomplete") == 0) {
    Settings reason;
    reason.set("reason", "max_output_tokens");
    details = std::move(reason);
  }
  s.set("incomplete_details", std::move(details)).set("output", std::move(output));
  for (const auto& [key, value] : echo_.entries()) s.set(key, value);
  s.set("usage", std::move(usage));
  return s;
}

/// The response whose text has ended: its output is one message.
Settings ResponseAnswer::finished(Setting usage) const {
  const char* const status = is_cut_ ? "incomplete" : "completed";
  return response(status, {message(status, {text_part(text_, logprobs_)})}, std::move(usage));
}

Settings ResponseAnswer::message(const char* status, Setting::List content) const {
  Settings s;
  s.set("id", message_id_).set("type", "message").set("role", "assistant");
  s.set("status", status).set("content", std::move(content));
  return s;
}

Settings ResponseAnswer::text_part(const std::string& text, const Setting::List& logprobs) const {
  Settings s;
  s.set("type", "output_text").set("text", text).set("annotations", Setting::List());
  s.set("logprobs", logprobs);
  return s;
}

/// Empty if the request does not ask for them.
Setting::List ResponseAnswer::logprobs(const std::vector<ScoredToken>& tokens) const {
  if (!texts_) return {};
  return std::get<Setting::List>(chat_logprobs(*texts_, tokens).find("content")->value);
}

void ResponseAnswer::set_text(const EngineText& text) {
  text_ = text.text;
  logprobs_ = logprobs(text.tokens);
  is_cut_ = std::strcmp(finish_reason(text.ending), "length") == 0;
}

Settings ResponseAnswer::whole(const TextFeed& feed, const Usage& usage) {
  set_text(feed.result(0));
  return finished(response_usage(usage));
}

/// Adds an event with its type and number.
void ResponseAnswer::add_event(std::string& to, const char* type, const Settings& data) {
  Settings s;
  s.set("type", type).set("sequence_number", sequence_++);
  for (const auto& [key, value] : data.entries()) s.set(key, value);
  to += "event: " + std::string(type) + "\n" + event(s);
}

/// The fields of events within the text of the message.
Settings ResponseAnswer::in_text() const {
  Settings s;
  s.set("item_id", message_id_).set("output_index", 0).set("content_index", 0);
  return s;
}

std::string ResponseAnswer::first(size_t) {
  Settings begun, item, part = in_text();
  begun.set("response", response("in_progress", {}, nullptr));
  item.set("output_index", 0).set("item", message("in_progress", {}));
  part.set("part", text_part("", {}));
  std::string events;
  add_event(events, "response.created", begun);
  add_event(events, "response.in_progress", begun);
  add_event(events, "response.output_item.added", item);
  add_event(events, "response.content_part.added", part);
  return events;
}

std::string ResponseAnswer::part(int64_t, const EnginePiece& piece) {
  if (piece.text.empty() && piece.tokens.empty()) return "";
  Settings delta = in_text();
  delta.set("delta", piece.text).set("logprobs", logprobs(piece.tokens));
  std::string events;
  add_event(events, "response.output_text.delta", delta);
  return events;
}

std::string ResponseAnswer::last(int64_t, const EngineText& text) {
  set_text(text);
  const Settings whole = text_part(text_, logprobs_);
  Settings end = in_text(), part = in_text(), item;
  end.set("text", text_).set("logprobs", logprobs_);
  part.set("part", whole);
  item.set("output_index", 0);
  item.set("item", message(is_cut_ ? "incomplete" : "completed", {whole}));
  std::string events;
  add_event(events, "response.output_text.done", end);
  add_event(events, "response.content_part.done", part);
  add_event(events, "response.output_item.done", item);
  return events;
}

std::string ResponseAnswer::end(const Usage& usage) {
  Settings data;
  data.set("response", finished(response_usage(usage)));
  std::string events;
  add_event(events, is_cut_ ? "response.incomplete" : "response.completed", data);
  return events;
}

std::string ResponseAnswer::failure(const RequestError& error) {
  Settings reason, data, failed = response("failed", {}, nullptr);
  reason.set("code", "server_error").set("message", std::string(error.what()));
  failed.set("error", std::move(reason));
  data.set("response", std::move(failed));
  std::string events;
  add_event(events, "response.failed", data);
  return events;
}

}  // namespace wick::serve
