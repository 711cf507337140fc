#include "serve/response_answer.h"

#include <cstring>
#include <ctime>
#include <utility>

#include "wick/io/json.h"

namespace wick::serve {
namespace {

/// The value of the body's field, or another one.
Setting given(const Fields& body, std::string_view key, Setting otherwise) {
  const Setting* const found = body.find(key);
  return found ? *found : otherwise;
}

Settings response_usage(const Usage& usage, int64_t reasoning_tokens) {
  Settings s, input, output;
  input.set("cached_tokens", usage.cached_tokens).set("cache_write_tokens", 0);
  output.set("reasoning_tokens", reasoning_tokens);
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
                               const TextOptions& options, const TokenTexts* texts,
                               const ReadingRules& rules)
    : texts_(texts), reader_(rules), is_streamed_(options.streams) {
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

/// The response whose text has ended.
Settings ResponseAnswer::finished(const Usage& usage) const {
  return response(is_cut_ ? "incomplete" : "completed", output_,
                  response_usage(usage, reader_.reasoning_tokens()));
}

/// The current item. content: of a message or reasoning.
Settings ResponseAnswer::item_object(const char* status, Setting::List content) const {
  Settings s;
  s.set("id", item_->id);
  switch (item_->kind) {
    case Kind::kReasoning:
      s.set("type", "reasoning").set("summary", Setting::List());
      s.set("content", std::move(content));
      break;
    case Kind::kContent:
      s.set("type", "message").set("role", "assistant").set("content", std::move(content));
      break;
    default:
      s.set("type", "function_call").set("call_id", item_->call_id).set("name", item_->name);
      s.set("arguments", item_->text);
  }
  s.set("status", status);
  return s;
}

/// The text of the current item, a message or reasoning.
Settings ResponseAnswer::content_part() const {
  Settings s;
  if (item_->kind == Kind::kReasoning) {
    s.set("type", "reasoning_text").set("text", item_->text);
  } else {
    s.set("type", "output_text").set("text", item_->text).set("annotations", Setting::List());
    s.set("logprobs", item_->logprobs);
  }
  return s;
}

/// The fields of events within the current item.
Settings ResponseAnswer::in_item(bool has_content) const {
  Settings s;
  s.set("item_id", item_->id).set("output_index", int64_t(output_.size()));
  if (has_content) s.set("content_index", 0);
  return s;
}

void ResponseAnswer::begin_item(Item item) {
  end_item("completed");
  item_ = std::move(item);
  Settings added;
  added.set("output_index", int64_t(output_.size())).set("item", item_object("in_progress", {}));
  add_event("response.output_item.added", added);
  if (item_->kind == Kind::kCallBegin) return;
  Settings part = in_item(true);
  add_event("response.content_part.added", part.set("part", content_part()));
}

void ResponseAnswer::end_item(const char* status) {
  if (!item_) return;
  const bool is_call = item_->kind == Kind::kCallBegin;
  Settings text = in_item(!is_call), part = text, done;
  Setting::List content;
  if (is_call) {
    text.set("name", item_->name).set("arguments", item_->text);
    add_event("response.function_call_arguments.done", text);
  } else {
    content = {content_part()};
    const bool is_message = item_->kind == Kind::kContent;
    text.set("text", item_->text);
    if (is_message) text.set("logprobs", item_->logprobs);
    add_event(is_message ? "response.output_text.done" : "response.reasoning_text.done", text);
    add_event("response.content_part.done", part.set("part", content.front()));
  }
  Settings item = item_object(status, std::move(content));
  done.set("output_index", int64_t(output_.size())).set("item", item);
  add_event("response.output_item.done", done);
  output_.push_back(std::move(item));
  item_.reset();
}

/// is_last: no other event has come with the text, so that all scores are of it.
void ResponseAnswer::add_text(Kind kind, const std::string& text, bool is_last) {
  if (!item_ || item_->kind != kind)
    begin_item({.kind = kind, .id = random_id(kind == Kind::kContent ? "msg_" : "rs_")});
  Settings delta = in_item(true);
  delta.set("delta", text);
  if (kind == Kind::kContent) {
    Setting::List logprobs = is_last ? take_scores(text) : Setting::List();
    delta.set("logprobs", logprobs);
    std::move(logprobs.begin(), logprobs.end(), std::back_inserter(item_->logprobs));
  }
  item_->text += text;
  add_event(kind == Kind::kContent ? "response.output_text.delta" : "response.reasoning_text.delta",
            delta);
}

void ResponseAnswer::add_arguments(const std::string& text) {
  item_->text += text;
  Settings delta = in_item(false);
  add_event("response.function_call_arguments.delta", delta.set("delta", text));
}

/// The log probabilities of the tokens that have given the text. At the start of an item that
/// follows another one, earlier tokens gave markers and white space between them.
Setting::List ResponseAnswer::take_scores(const std::string& text) {
  if (!texts_) return {};
  std::vector<ScoredToken> tokens = std::exchange(scores_, {});
  if (item_->text.empty() && !output_.empty()) {
    size_t begin = tokens.size();
    for (size_t bytes = 0; begin > 0 && bytes < text.size();)
      bytes += texts_->text(tokens[--begin].token.id).size();
    tokens.erase(tokens.begin(), tokens.begin() + int64_t(begin));
  }
  return std::get<Setting::List>(chat_logprobs(*texts_, tokens).find("content")->value);
}

void ResponseAnswer::take(const std::vector<AnswerEvent>& parts) {
  for (const AnswerEvent& part : parts) {
    switch (part.kind) {
      case Kind::kReasoning:
      case Kind::kContent:
        add_text(part.kind, part.text, &part == &parts.back());
        break;
      case Kind::kCallBegin:
        begin_item(
            {.kind = part.kind, .id = random_id("fc_"), .name = part.text, .call_id = part.id});
        break;
      case Kind::kArguments:
        add_arguments(part.text);
        break;
      case Kind::kCallEnd:
        end_item("completed");
        break;
    }
  }
  if (!parts.empty()) scores_.clear();
}

/// Adds an event with its type and number.
void ResponseAnswer::add_event(const char* type, const Settings& data) {
  if (!is_streamed_) return;
  Settings s;
  s.set("type", type).set("sequence_number", sequence_++);
  for (const auto& [key, value] : data.entries()) s.set(key, value);
  events_ += "event: " + std::string(type) + "\n" + event(s);
}

std::string ResponseAnswer::first(size_t) {
  Settings begun;
  begun.set("response", response("in_progress", {}, nullptr));
  add_event("response.created", begun);
  add_event("response.in_progress", begun);
  return take_events();
}

std::string ResponseAnswer::part(int64_t, const EnginePiece& piece) {
  for (const EnginePiece& one : reader_.split(piece)) {
    scores_.insert(scores_.end(), one.tokens.begin(), one.tokens.end());
    take(reader_.push(one));
  }
  return take_events();
}

std::string ResponseAnswer::last(int64_t, const EngineText& text) {
  is_cut_ = std::strcmp(finish_reason(text.ending), "length") == 0;
  take(reader_.finish());
  const bool is_message = item_ && item_->kind == Kind::kContent;
  // An answer without text is an empty message. Tokens without text may end one.
  if ((!item_ && output_.empty()) || (is_message && !scores_.empty()))
    add_text(Kind::kContent, "", true);
  end_item(is_cut_ ? "incomplete" : "completed");
  return take_events();
}

Settings ResponseAnswer::whole(const TextFeed& feed, const Usage& usage) {
  last(0, feed.result(0));
  return finished(usage);
}

std::string ResponseAnswer::end(const Usage& usage) {
  Settings data;
  data.set("response", finished(usage));
  add_event(is_cut_ ? "response.incomplete" : "response.completed", data);
  return take_events();
}

std::string ResponseAnswer::failure(const RequestError& error) {
  Settings reason, data, failed = response("failed", {}, nullptr);
  reason.set("code", "server_error").set("message", std::string(error.what()));
  failed.set("error", std::move(reason));
  data.set("response", std::move(failed));
  add_event("response.failed", data);
  return take_events();
}

}  // namespace wick::serve
