#include "text/answers/reader.h"

#include <algorithm>

namespace wick::answers {
namespace {

using Kind = AnswerEvent::Kind;

/// A text that may be a call is content once it is longer, in symbols.
constexpr size_t kMaxCall = 1 << 20;
/// So much white space is held back, as it may stand before a call.
constexpr size_t kMaxSpace = 256;

/// Reasoning at the start, if the model reasons, then content and calls.
class MarkedReader : public Reader {
 public:
  MarkedReader(const Format& format, const Tools& tools, bool is_single_call, bool opens_reasoning)
      : Reader(format, tools, is_single_call) {
    has_calls_ = format.family && !tools.is_empty();
    if (opens_reasoning) state_ = State::kReasoningStart;
  }

 private:
  enum class State {
    kStart,           // of the answer
    kReasoningStart,  // white space and a marker are skipped
    kReasoning,
    kContentStart,  // after reasoning: white space and a marker are skipped
    kContent,
    kCall,
  };

  bool step() override {
    if (rest().empty()) return false;
    switch (state_) {
      case State::kStart:
        return start();
      case State::kReasoningStart:
        return start_reasoning();
      case State::kReasoning:
        return read_reasoning();
      case State::kContentStart:
        return start_content();
      case State::kContent:
        return read_content();
      case State::kCall:
        return read_call();
    }
    return false;
  }

  void end() override {
    // White space alone, after calls or between markers, is no content.
    if (state_ == State::kContent && !after_call_) flush_space(Kind::kContent);
    if (state_ == State::kStart) flush_space(Kind::kContent);
    space_.clear();
  }

  bool start() {
    const Symbol first = rest().front();
    if (format_.has_reasoning) {
      switch (match(format_.think_open)) {
        case Match::kPart:
          return false;
        case Match::kWhole:
          take(format_.think_open.size());
          space_.clear();
          state_ = State::kReasoningStart;
          return true;
        case Match::kNo:
          break;
      }
    }
    if ((format_.has_reasoning || has_calls_) && is_space(first) && space_.size() < kMaxSpace)
      return hold_space();
    begin_content();
    return true;
  }

  /// Content may begin here; or a call that is the whole answer.
  void begin_content() {
    state_ = State::kContent;
    if (has_calls_ && format_.family->kind == CallKind::kWholeJson && rest().front() == '{')
      begin_call({});
  }

  bool start_reasoning() {
    const Match again = match(format_.think_open);
    if (again == Match::kPart) return false;
    if (again == Match::kWhole) {
      take(format_.think_open.size());
    } else if (is_space(rest().front())) {
      take(1);
    } else {
      state_ = State::kReasoning;
    }
    return true;
  }

  bool read_reasoning() {
    const Match close = match(format_.think_close);
    if (close == Match::kPart) return false;
    if (close == Match::kWhole) {
      take(format_.think_close.size());
      space_.clear();
      state_ = State::kContentStart;
      return true;
    }
    if (is_space(rest().front()) && space_.size() < kMaxSpace) return hold_space();
    flush_space(Kind::kReasoning);
    take_text(Kind::kReasoning);
    return true;
  }

  bool start_content() {
    if (is_space(rest().front())) {
      take(1);
      return true;
    }
    if (!format_.content_open.empty() && !is_wrapped_) {
      const Match open = match(format_.content_open);
      if (open == Match::kPart) return false;
      if (open == Match::kWhole) {
        take(format_.content_open.size());
        is_wrapped_ = true;
        return true;
      }
    }
    begin_content();
    return true;
  }

  bool read_content() {
    bool may_be_marker = false;
    if (has_calls_)
      for (const Symbols& open : format_.opens) {
        const Match found = match(open);
        if (found == Match::kWhole) {
          begin_call(open);
          return true;
        }
        may_be_marker |= found == Match::kPart;
      }
    // Markers that close calls are skipped directly after one alone.
    if (after_call_)
      for (const Symbols& close : format_.closes)
        if (skip(close, may_be_marker)) return true;
    if (is_wrapped_ && skip(format_.content_close, may_be_marker)) {
      is_wrapped_ = false;
      return true;
    }
    if (may_be_marker) return false;
    const bool may_precede_call = has_calls_ && space_.size() < kMaxSpace;
    if ((may_precede_call || is_wrapped_) && is_space(rest().front())) return hold_space();
    flush_space(Kind::kContent);
    after_call_ = false;
    take_text(Kind::kContent);
    return true;
  }
  bool skip(const Symbols& marker, bool& may_be_marker) {
    const Match found = match(marker);
    may_be_marker |= found == Match::kPart;
    if (found != Match::kWhole) return false;
    take(marker.size());
    space_.clear();
    return true;
  }

  void begin_call(const Symbols& open) {
    state_ = State::kCall;
    form_ = make_call_form(format_, tools_, open);
    read_ = open.size();
  }
  bool read_call() {
    const SymbolView text = rest();
    while (read_ < text.size()) {
      const CallForm::Verdict verdict = form_->next(text[read_]);
      if (verdict == CallForm::Verdict::kDone) {
        read_++;
        end_call(true);
        return true;
      }
      if (verdict == CallForm::Verdict::kFailed || read_ >= kMaxCall) {
        if (read_ == 0) read_ = 1;
        end_call(false);
        return true;
      }
      read_++;
    }
    if (!has_ended()) return false;
    end_call(form_->end() == CallForm::Verdict::kDone);
    return true;
  }
  /// The symbols that were read are a call, or content.
  void end_call(bool is_call) {
    if (is_call) {
      space_.clear();
      for (const Call& call : form_->calls()) add_call(call);
    } else {
      flush_space(Kind::kContent);
      add_text(Kind::kContent, visible(rest().substr(0, read_)));
    }
    after_call_ = is_call;
    take(read_);
    form_.reset();
    state_ = State::kContent;
  }

  bool hold_space() {
    space_ += char(rest().front());
    take(1);
    return true;
  }
  void flush_space(Kind kind) {
    add_text(kind, space_);
    space_.clear();
  }
  void take_text(Kind kind) {
    add_text(kind, visible(rest().substr(0, 1)));
    take(1);
  }

  bool has_calls_ = false;
  State state_ = State::kStart;
  std::string space_;        // white space that is held back
  bool after_call_ = false;  // nothing but white space and closing markers has come since
  bool is_wrapped_ = false;  // within markers around content
  std::unique_ptr<CallForm> form_;
  size_t read_ = 0;  // symbols of the rest that form_ and the marker have
};

}  // namespace

std::vector<AnswerEvent> Reader::push(SymbolView symbols) {
  if (!is_complete()) buffer_ += symbols;
  while (!is_complete() && step()) {
  }
  if (is_complete()) at_ = buffer_.size();
  buffer_.erase(0, at_);
  at_ = 0;
  return std::move(events_);
}

std::vector<AnswerEvent> Reader::finish() {
  has_ended_ = true;
  while (!is_complete() && step()) {
  }
  if (!is_complete()) end();
  return std::move(events_);
}

Reader::Match Reader::match(SymbolView marker) const {
  const SymbolView next = rest();
  if (marker.empty() || next.empty()) return Match::kNo;
  if (next.starts_with(marker)) return Match::kWhole;
  return !has_ended_ && marker.starts_with(next) ? Match::kPart : Match::kNo;
}

std::string Reader::visible(SymbolView symbols) const {
  std::string text;
  for (const Symbol symbol : symbols) {
    if (!is_mark(symbol)) {
      text += char(symbol);
      continue;
    }
    const Mark& mark = format_.marks[symbol - kFirstMark];
    if (!mark.is_special) text += mark.spelling;
  }
  return text;
}

void Reader::add_text(AnswerEvent::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (events_.empty() || events_.back().kind != kind) events_.push_back({.kind = kind});
  events_.back().text += text;
}

void Reader::add_call(const Call& call) {
  if (is_complete()) return;
  events_.push_back({.kind = Kind::kCallBegin, .text = call.name, .call = calls_, .id = call.id});
  events_.push_back({.kind = Kind::kArguments, .text = call.arguments, .call = calls_});
  events_.push_back({.kind = Kind::kCallEnd, .call = calls_});
  calls_++;
}

std::unique_ptr<Reader> make_reader(const Format& format, const Tools& tools, bool is_single_call,
                                    bool opens_reasoning) {
  if (format.family && format.family->kind == CallKind::kHarmony)
    return make_harmony_reader(format, tools, is_single_call);
  return std::make_unique<MarkedReader>(format, tools, is_single_call, opens_reasoning);
}

}  // namespace wick::answers
