#include "serve/answer_reader.h"

#include <algorithm>

#include "serve/answers.h"
#include "wick/base/error.h"

namespace wick::serve {
namespace {

/// The ids that tell whether a prompt has opened the reasoning.
std::vector<int64_t> last_ids(const std::vector<int64_t>& prompt) {
  constexpr size_t kTail = 64;
  return {prompt.end() - int64_t(std::min(kTail, prompt.size())), prompt.end()};
}

/// The request's field of a field that a grammar's error names, such as
/// "tools[0].function.parameters".
std::string request_field(const ChatRequest& request, const std::string& field) {
  for (size_t i = 0; i < request.tool_fields.size(); i++) {
    const std::string own = "tools[" + std::to_string(i) + "].function";
    if (field.starts_with(own)) return request.tool_fields[i] + field.substr(own.size());
  }
  return field;
}

/// Whether the model chooses between calls of tools and JSON of a format.
bool may_choose_calls(const ChatRequest& request, const AnswerFormat& format) {
  return request.options.format && !request.layout.tools.empty() && !format.calls().empty();
}

}  // namespace

ReadingRules reading_rules(const AnswerFormat& format, const Tokenizer& tokenizer,
                           const ChatRequest& request, const std::vector<int64_t>& prompt) {
  // JSON that a format asks for is content, also if it looks like a call or the prompt has opened
  // the reasoning; unless the model may call.
  return {request.options.format && !may_choose_calls(request, format) ? AnswerFormat() : format,
          tokenizer,
          {.tools = request.layout.tools,
           .prompt = last_ids(prompt),
           .is_single_call = request.is_single_call}};
}

void hold_to_calls(ChatRequest& request, const AnswerFormat& format,
                   const std::vector<int64_t>& prompt) {
  const bool may_choose = may_choose_calls(request, format);
  if (!request.forced_function && !may_choose) return;
  CallGrammarOptions options{.function = request.forced_function.value_or(""),
                             .is_single_call = request.is_single_call,
                             .prompt = last_ids(prompt)};
  if (may_choose) options.content = request.options.format;
  try {
    request.options.grammar = format.call_grammar(request.layout.tools, options);
  } catch (const Error& error) {
    // Errors begin with the field.
    const std::string text = error.what();
    const size_t end = std::min(text.find(": "), text.size());
    const std::string field = request_field(request, text.substr(0, end));
    throw RequestError(400, "'" + field + "'" + text.substr(end), field, "invalid_value");
  }
}

AnswerReader::AnswerReader(const ReadingRules& rules)
    : parser_(rules.format, rules.tokenizer, rules.options),
      tokens_(rules.tokenizer, true),
      has_short_ids_(rules.format.has_short_call_ids()) {}

std::vector<EnginePiece> AnswerReader::split(const EnginePiece& piece) {
  std::vector<EnginePiece> parts;
  size_t at = 0;
  for (size_t i = 0; i < piece.ids.size(); i++) {
    decoded_ += tokens_.push(piece.ids[i]).size();
    const bool is_last = i + 1 == piece.ids.size();
    const size_t due = decoded_ > seen_ ? decoded_ - seen_ : 0;
    const size_t size = is_last ? piece.text.size() - at : std::min(due, piece.text.size() - at);
    EnginePiece& part = parts.emplace_back();
    part.text = piece.text.substr(at, size);
    part.ids = {piece.ids[i]};
    if (i < piece.tokens.size()) part.tokens = {piece.tokens[i]};
    at += size, seen_ += size;
  }
  if (piece.ids.empty() && !piece.text.empty()) {
    parts.push_back(piece);
    seen_ += piece.text.size();
  }
  return parts;
}

std::vector<AnswerEvent> AnswerReader::push(const EnginePiece& piece) {
  std::vector<AnswerEvent> events = parser_.push(piece.text, piece.ids);
  held_tokens_ += int64_t(piece.ids.size());
  name_calls(events);
  count(events);
  return events;
}

std::vector<AnswerEvent> AnswerReader::finish() {
  std::vector<AnswerEvent> events = parser_.finish();
  name_calls(events);
  count(events);
  return events;
}

/// Clients find a call by its id, so those that models write count only once.
void AnswerReader::name_calls(std::vector<AnswerEvent>& events) {
  for (AnswerEvent& event : events) {
    if (event.kind != AnswerEvent::Kind::kCallBegin) continue;
    if (event.id.empty() || call_ids_.contains(event.id)) event.id = random_call_id(has_short_ids_);
    call_ids_.insert(event.id);
  }
}

void AnswerReader::count(const std::vector<AnswerEvent>& events) {
  if (events.empty()) return;
  if (events.back().kind == AnswerEvent::Kind::kReasoning) reasoning_tokens_ += held_tokens_;
  held_tokens_ = 0;
}

}  // namespace wick::serve
