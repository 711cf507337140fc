#include "wick/text/answer.h"

#include <algorithm>

#include "text/answers/call_grammar.h"
#include "text/answers/families.h"
#include "text/answers/reader.h"
#include "text/answers/token_marks.h"

namespace wick {
namespace {

/// Whether a prompt with these last ids has begun the reasoning.
bool opens_reasoning(const answers::Format& format, const Tokenizer& tokenizer,
                     std::span<const int64_t> prompt) {
  constexpr size_t kTail = 64;
  if (!format.has_reasoning || prompt.empty()) return false;
  if (prompt.size() > kTail) prompt = prompt.last(kTail);
  answers::Symbols symbols;
  for (const int64_t id : prompt) {
    const auto mark = std::find_if(format.marks.begin(), format.marks.end(),
                                   [&](const answers::Mark& one) { return one.id == id; });
    if (mark == format.marks.end())
      symbols += answers::symbols_of(tokenizer.decode({&id, 1}));
    else
      symbols += answers::Symbol(answers::kFirstMark + (mark - format.marks.begin()));
  }
  while (!symbols.empty() && answers::is_space(symbols.back())) symbols.pop_back();
  return answers::SymbolView(symbols).ends_with(format.think_open);
}

}  // namespace

AnswerFormat::AnswerFormat() : format_(std::make_shared<const answers::Format>()) {}

Grammar AnswerFormat::call_grammar(const Setting::List& tools,
                                   const CallGrammarOptions& options) const {
  const bool is_open =
      format_->tokenizer && opens_reasoning(*format_, *format_->tokenizer, options.prompt);
  return answers::make_call_grammar(*format_, tools, options, is_open);
}

AnswerFormat::AnswerFormat(std::string_view chat_template, const Tokenizer& tokenizer)
    : format_(answers::make_format(chat_template, tokenizer)) {}

std::string_view AnswerFormat::calls() const {
  return format_->family ? format_->family->name : std::string_view();
}

bool AnswerFormat::has_reasoning() const {
  return format_->has_reasoning ||
         (format_->family && format_->family->kind == answers::CallKind::kHarmony);
}

bool AnswerFormat::has_short_call_ids() const {
  return format_->family && format_->family->short_ids;
}

AnswerParser::AnswerParser(const AnswerFormat& format, const Tokenizer& tokenizer,
                           AnswerOptions options)
    : marks_(std::make_unique<answers::TokenMarks>(format.format_, tokenizer,
                                                   answers::Tools(options.tools))),
      reader_(answers::make_reader(marks_->format(), marks_->tools(), options.is_single_call,
                                   opens_reasoning(*format.format_, tokenizer, options.prompt))) {}
AnswerParser::~AnswerParser() = default;
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;

std::vector<AnswerEvent> AnswerParser::push(std::string_view text, std::span<const int64_t> ids) {
  return reader_->push(marks_->push(text, ids));
}

std::vector<AnswerEvent> AnswerParser::finish() {
  std::vector<AnswerEvent> events = reader_->push(marks_->finish());
  for (AnswerEvent& event : reader_->finish()) {
    if (!events.empty() && events.back().kind == event.kind &&
        (event.kind == AnswerEvent::Kind::kReasoning || event.kind == AnswerEvent::Kind::kContent))
      events.back().text += event.text;
    else
      events.push_back(std::move(event));
  }
  return events;
}

int64_t AnswerParser::calls() const { return reader_->calls(); }
bool AnswerParser::is_complete() const { return reader_->is_complete(); }

}  // namespace wick
