#include "text/answers/call_form.h"

#include <algorithm>
#include <optional>

#include "base/json_text.h"
#include "text/answers/json_scanner.h"

namespace wick::answers {
namespace {

using Verdict = CallForm::Verdict;
using Result = JsonScanner::Result;

/// Names, keys and ids are no longer, in symbols.
constexpr size_t kMaxName = 512;

/// The text of symbols; missing if a marker among them is a special token, which no text of a call
/// has.
std::optional<std::string> text_of(SymbolView symbols, const Format& format) {
  std::string text;
  for (const Symbol symbol : symbols) {
    if (!is_mark(symbol)) {
      text += char(symbol);
      continue;
    }
    const Mark& mark = format.marks[symbol - kFirstMark];
    if (mark.is_special) return {};
    text += mark.spelling;
  }
  return text;
}

/// One JSON value that is a call, or a list of calls.
class JsonCalls {
 public:
  /// is_strict: fails at a key that no call has.
  JsonCalls(const Tools& tools, bool is_strict) : tools_(tools), is_strict_(is_strict) {}

  Result next(char c) {
    const bool is_item = is_list_ && scanner_.depth() == 1;
    if (is_item && !is_space(Symbol(uint8_t(c))) && c != '{' && c != ',' && c != ']')
      return Result::kFailed;
    if (text_.empty()) is_list_ = c == '[';
    text_ += c;
    const Result result = scanner_.next(c);
    if (result == Result::kFailed || !read_event()) return Result::kFailed;
    return result == Result::kDone && calls_.empty() ? Result::kFailed : result;
  }
  std::vector<Call>& calls() { return calls_; }

 private:
  enum class Key { kOther, kName, kArguments, kId };

  size_t call_depth() const { return is_list_ ? 2 : 1; }

  /// Reads the key or value that the last byte has begun or ended. False if the value is no call.
  bool read_event() {
    const size_t depth = scanner_.depth(), at = text_.size() - 1;
    if (scanner_.begins_key()) {
      key_begin_ = at;
    } else if (scanner_.ends_key()) {
      if (depth == call_depth()) return set_key(unquoted(text_.substr(key_begin_)));
    } else if (scanner_.begins_value()) {
      const bool is_string = text_.back() == '"';
      if (depth == call_depth() + (is_string ? 0 : 1)) value_begin_ = at;
    } else if (scanner_.ends_value()) {
      if (depth == call_depth()) return set_value();
      if (depth + 1 == call_depth()) return add_call();
    }
    return true;
  }

  bool set_key(const std::string& key) {
    struct Name {
      std::string_view text;
      Key key;
    };
    constexpr Name kNames[] = {{"name", Key::kName},
                               {"tool_name", Key::kName},
                               {"arguments", Key::kArguments},
                               {"parameters", Key::kArguments},
                               {"id", Key::kId},
                               {"type", Key::kOther},
                               {"tool_call_id", Key::kOther}};
    const auto known = std::find_if(std::begin(kNames), std::end(kNames),
                                    [&](const Name& name) { return name.text == key; });
    key_ = known == std::end(kNames) ? Key::kOther : known->key;
    return known != std::end(kNames) || !is_strict_;
  }
  /// A string, list or object of a call.
  bool set_value() {
    const std::string value = text_.substr(value_begin_);
    const bool is_string = value.front() == '"';
    switch (key_) {
      case Key::kName:
        if (!is_string || has_name_) return false;
        call_.name = unquoted(value);
        has_name_ = true;
        return tools_.has(call_.name);
      case Key::kArguments:
        if (value.front() != '{' || !call_.arguments.empty()) return false;
        call_.arguments = value;
        return true;
      case Key::kId:
        if (is_string) call_.id = unquoted(value);
        return true;
      default:
        return true;
    }
  }
  bool add_call() {
    if (!has_name_ || call_.arguments.empty()) return false;
    calls_.push_back(std::move(call_));
    call_ = {};
    has_name_ = false;
    return true;
  }

  const Tools& tools_;
  const bool is_strict_;
  JsonScanner scanner_;
  std::string text_;
  bool is_list_ = false, has_name_ = false;
  size_t key_begin_ = 0, value_begin_ = 0;
  Key key_ = Key::kOther;
  Call call_;
  std::vector<Call> calls_;
};

/// A JSON object.
class JsonObject {
 public:
  Result next(char c) {
    if (text_.empty() && c != '{') return Result::kFailed;
    text_ += c;
    return scanner_.next(c);
  }
  std::string& text() { return text_; }

 private:
  JsonScanner scanner_;
  std::string text_;
};

/// Passes a symbol to a reader of JSON.
template <class Reader>
Verdict read_json(Reader& reader, Symbol symbol, const Format& format) {
  const std::optional<std::string> text = text_of({&symbol, 1}, format);
  if (!text) return Verdict::kFailed;
  Result result = Result::kMore;
  for (const char c : *text) {
    if (result != Result::kMore) return Verdict::kFailed;
    result = reader.next(c);
  }
  return result == Result::kMore   ? Verdict::kMore
         : result == Result::kDone ? Verdict::kDone
                                   : Verdict::kFailed;
}

/// kJson and kWholeJson.
class JsonForm : public CallForm {
 public:
  JsonForm(const Format& format, const Tools& tools, bool is_whole)
      : format_(format), tools_(tools), is_whole_(is_whole) {}

  Verdict next(Symbol symbol) override {
    if (!json_) {
      if (is_space(symbol)) return Verdict::kMore;
      if (is_whole_ && symbol == ';' && may_follow_) {
        may_follow_ = false;
        return Verdict::kMore;
      }
      if (symbol != '{' && (symbol != '[' || is_whole_)) return Verdict::kFailed;
      json_.emplace(tools_, is_whole_);
    }
    const Verdict verdict = read_json(*json_, symbol, format_);
    if (verdict != Verdict::kDone) return verdict;
    for (Call& call : json_->calls()) calls_.push_back(std::move(call));
    json_.reset();
    may_follow_ = true;
    return is_whole_ ? Verdict::kMore : Verdict::kDone;
  }
  Verdict end() override {
    return is_whole_ && !json_ && !calls_.empty() ? Verdict::kDone : Verdict::kFailed;
  }

 private:
  const Format& format_;
  const Tools& tools_;
  const bool is_whole_;
  bool may_follow_ = false;  // a ";"
  std::optional<JsonCalls> json_;
};

/// kNamedJson.
class NamedForm : public CallForm {
 public:
  NamedForm(const Format& format, const Tools& tools, SymbolView open)
      : format_(format), family_(*format.family), tools_(tools) {
    if (!format.inner_open.empty() && open != SymbolView(format.inner_open)) state_ = State::kOpen;
  }

  Verdict next(Symbol symbol) override {
    switch (state_) {
      case State::kOpen:
        if (collected_.empty() && is_space(symbol)) return Verdict::kMore;
        collected_ += symbol;
        if (!SymbolView(format_.inner_open).starts_with(collected_)) return Verdict::kFailed;
        if (collected_ == format_.inner_open) go(State::kName);
        return Verdict::kMore;
      case State::kName:
        return read_name(symbol);
      case State::kId:
        return read_id(symbol);
      case State::kBeforeJson:
        if (is_space(symbol)) return Verdict::kMore;
        if (symbol == '{') return begin_arguments(symbol);
        if (!family_.takes_fence || is_fenced_) return Verdict::kFailed;
        is_fenced_ = true;
        go(State::kFencedName);
        [[fallthrough]];
      case State::kFencedName:
        return read_fenced_name(symbol);
      case State::kFence:
        return read_fence(symbol);
      case State::kArguments:
        return read_arguments(symbol);
      case State::kJson:
        return read_calls(symbol);
    }
    return Verdict::kFailed;
  }

 private:
  enum class State { kOpen, kName, kId, kBeforeJson, kFencedName, kFence, kArguments, kJson };

  void go(State state) {
    state_ = state;
    collected_.clear();
  }
  Verdict read_name(Symbol symbol) {
    if (family_.takes_json && collected_.empty() && (symbol == '[' || symbol == '{')) {
      json_.emplace(tools_, false);
      state_ = State::kJson;
      return read_calls(symbol);
    }
    if (collected_.empty() && is_space(symbol)) return Verdict::kMore;
    if (family_.takes_json && symbol == '{') {
      return set_name(collected_) ? begin_arguments(symbol) : Verdict::kFailed;
    }
    return collect_until(symbol,
                         {{format_.separator, State::kBeforeJson}, {format_.id_mark, State::kId}});
  }
  struct Next {
    const Symbols& marker;
    State state;
  };
  /// Collects the name up to one of the markers.
  Verdict collect_until(Symbol symbol, std::initializer_list<Next> nexts) {
    collected_ += symbol;
    for (const Next& next : nexts) {
      if (next.marker.empty() || !SymbolView(collected_).ends_with(next.marker)) continue;
      const Symbols name = collected_.substr(0, collected_.size() - next.marker.size());
      // A word may stand here in the place of a name that follows.
      if (!set_name(name) && !family_.takes_fence) return Verdict::kFailed;
      go(next.state);
      return Verdict::kMore;
    }
    return collected_.size() > kMaxName ? Verdict::kFailed : Verdict::kMore;
  }
  /// False if there is no such function.
  bool set_name(const Symbols& symbols) {
    const std::optional<std::string> text = text_of(symbols, format_);
    if (!text) return false;
    std::string name(trimmed(*text));
    if (family_.name_is_id) {
      call_.id = name;
      constexpr std::string_view kPrefix = "functions.";
      if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
      name.erase(std::min(name.rfind(':'), name.size()));
    }
    call_.name = name;
    return tools_.has(name);
  }
  Verdict read_id(Symbol symbol) {
    collected_ += symbol;
    const SymbolView id = collected_;
    if (!id.ends_with(format_.separator))
      return id.size() > kMaxName ? Verdict::kFailed : Verdict::kMore;
    const std::optional<std::string> text =
        text_of(id.substr(0, id.size() - format_.separator.size()), format_);
    if (!text) return Verdict::kFailed;
    call_.id = trimmed(*text);
    go(State::kBeforeJson);
    return Verdict::kMore;
  }
  Verdict read_fenced_name(Symbol symbol) {
    if (symbol != '\n') {
      collected_ += symbol;
      return collected_.size() > kMaxName ? Verdict::kFailed : Verdict::kMore;
    }
    if (!set_name(collected_)) return Verdict::kFailed;
    go(State::kFence);
    return Verdict::kMore;
  }
  Verdict read_fence(Symbol symbol) {
    constexpr SymbolView kFence = u"```json\n";
    collected_ += symbol;
    if (!kFence.starts_with(collected_)) return Verdict::kFailed;
    if (collected_ == kFence) go(State::kBeforeJson);
    return Verdict::kMore;
  }
  Verdict begin_arguments(Symbol symbol) {
    if (!tools_.has(call_.name)) return Verdict::kFailed;
    state_ = State::kArguments;
    return read_arguments(symbol);
  }
  Verdict read_arguments(Symbol symbol) {
    const Verdict verdict = read_json(arguments_, symbol, format_);
    if (verdict != Verdict::kDone) return verdict;
    call_.arguments = std::move(arguments_.text());
    calls_.push_back(std::move(call_));
    return verdict;
  }
  Verdict read_calls(Symbol symbol) {
    const Verdict verdict = read_json(*json_, symbol, format_);
    if (verdict == Verdict::kDone) calls_ = std::move(json_->calls());
    return verdict;
  }

  const Format& format_;
  const Family& family_;
  const Tools& tools_;
  State state_ = State::kName;
  bool is_fenced_ = false;
  Symbols collected_;
  Call call_;
  JsonObject arguments_;
  std::optional<JsonCalls> json_;
};

/// kTags.
class TagForm : public CallForm {
 public:
  TagForm(const Format& format, const Tools& tools, SymbolView open)
      : format_(format), tools_(tools) {
    if (!format.name_open.empty() && open != SymbolView(format.name_open)) state_ = State::kOpen;
  }

  Verdict next(Symbol symbol) override {
    if (is_gap() && collected_.empty() && is_space(symbol)) return Verdict::kMore;
    collected_ += symbol;
    switch (state_) {
      case State::kOpen:
        if (is_at(format_.name_open)) return go(State::kName);
        return begins(format_.name_open) ? Verdict::kMore : Verdict::kFailed;
      case State::kName:
        return read_name();
      case State::kGap:
        if (is_at(format_.close)) return add_call();
        if (is_at(format_.key_open)) return go(State::kKey);
        return begins(format_.close) || begins(format_.key_open) ? Verdict::kMore
                                                                 : Verdict::kFailed;
      case State::kKey:
        return read_key();
      case State::kValueOpen:
        if (is_at(format_.value_open)) return go(State::kValue);
        return begins(format_.value_open) ? Verdict::kMore : Verdict::kFailed;
      case State::kValue:
        return read_value();
    }
    return Verdict::kFailed;
  }

 private:
  enum class State { kOpen, kName, kGap, kKey, kValueOpen, kValue };

  /// Whether white space means nothing here.
  bool is_gap() const {
    return state_ == State::kOpen || state_ == State::kGap || state_ == State::kValueOpen;
  }
  bool is_at(const Symbols& marker) const { return collected_ == marker; }
  bool begins(const Symbols& marker) const { return SymbolView(marker).starts_with(collected_); }
  bool ends_with(const Symbols& marker) const { return SymbolView(collected_).ends_with(marker); }
  Verdict go(State state) {
    state_ = state;
    collected_.clear();
    return Verdict::kMore;
  }
  /// The text that was collected before a marker.
  std::optional<std::string> text_before(size_t marker) const {
    return text_of(SymbolView(collected_).substr(0, collected_.size() - marker), format_);
  }
  Verdict within_limit() const {
    return collected_.size() > kMaxName ? Verdict::kFailed : Verdict::kMore;
  }

  Verdict read_name() {
    if (!format_.name_open.empty())
      return ends_with(format_.separator) ? set_name(format_.separator.size(), State::kGap)
                                          : within_limit();
    if (ends_with(format_.key_open)) return set_name(format_.key_open.size(), State::kKey);
    if (ends_with(format_.close)) {
      const Verdict verdict = set_name(format_.close.size(), State::kGap);
      return verdict == Verdict::kMore ? add_call() : verdict;
    }
    const bool has_name = collected_.back() == '\n' && !all_space();
    return has_name ? set_name(1, State::kGap) : within_limit();
  }
  bool all_space() const { return std::all_of(collected_.begin(), collected_.end(), is_space); }
  Verdict set_name(size_t marker, State state) {
    const std::optional<std::string> text = text_before(marker);
    if (!text) return Verdict::kFailed;
    call_.name = trimmed(*text);
    return tools_.has(call_.name) ? go(state) : Verdict::kFailed;
  }
  Verdict read_key() {
    if (!ends_with(format_.separator)) return within_limit();
    const std::optional<std::string> text = text_before(format_.separator.size());
    if (!text) return Verdict::kFailed;
    key_ = trimmed(*text);
    if (std::find(keys_.begin(), keys_.end(), key_) != keys_.end() || keys_.size() == kMaxKeys)
      return Verdict::kFailed;
    keys_.push_back(key_);
    return go(format_.value_open.empty() ? State::kValue : State::kValueOpen);
  }
  Verdict read_value() {
    if (!ends_with(format_.value_close)) return Verdict::kMore;
    std::optional<std::string> text = text_before(format_.value_close.size());
    if (!text) return Verdict::kFailed;
    if (format_.value_open.empty()) {  // the value has lines of its own
      if (text->starts_with('\n')) text->erase(0, 1);
      if (text->ends_with('\n')) text->pop_back();
    }
    if (!arguments_.empty()) arguments_ += ", ";
    arguments_ += json_quote(key_, JsonEscapes::kPython) + ": " +
                  parameter_json(std::move(*text), tools_.type(call_.name, key_));
    return go(State::kGap);
  }
  Verdict add_call() {
    call_.arguments = "{" + arguments_ + "}";
    calls_.push_back(std::move(call_));
    return Verdict::kDone;
  }

  static constexpr size_t kMaxKeys = 256;
  const Format& format_;
  const Tools& tools_;
  State state_ = State::kName;
  Symbols collected_;
  Call call_;
  std::string key_, arguments_;
  std::vector<std::string> keys_;
};

}  // namespace

std::unique_ptr<CallForm> make_call_form(const Format& format, const Tools& tools,
                                         SymbolView open) {
  switch (format.family->kind) {
    case CallKind::kNamedJson:
      return std::make_unique<NamedForm>(format, tools, open);
    case CallKind::kTags:
      return std::make_unique<TagForm>(format, tools, open);
    default:
      return std::make_unique<JsonForm>(format, tools, format.family->kind == CallKind::kWholeJson);
  }
}

bool is_json_object(std::string_view text) {
  text = trimmed(text);
  return text.starts_with('{') && is_json(text);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \n\r\t";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace wick::answers
