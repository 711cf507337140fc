#include "text/tokenizer/decoder.h"

#include <optional>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"

namespace wick::tokenization {
namespace {

class JoinBytes : public DecodeStep {
 public:
  explicit JoinBytes(bool letters) : letters_(letters) {}
  void push(StepState& state, std::string token, Sink next) const override {
    if (!letters_ || !append_bytes(token, state.held)) state.held += token;
    std::string text;
    move_characters(state.held, text);
    if (!text.empty()) next(std::move(text));
  }
  void finish(StepState& state, Sink next) const override {
    if (!state.held.empty()) next(std::string(kReplacement));
  }
  bool joins() const override { return true; }
  std::string bytes_of(std::string token) const override {
    std::string bytes;
    return letters_ && append_bytes(token, bytes) ? bytes : token;
  }

 private:
  bool letters_;
};

class JoinTexts : public DecodeStep {
 public:
  explicit JoinTexts(bool spaces) : spaces_(spaces) {}
  void push(StepState& state, std::string token, Sink next) const override {
    if (spaces_ && state.started) token.insert(0, 1, ' ');
    state.started = true;
    next(std::move(token));
  }
  bool joins() const override { return true; }
  std::string bytes_of(std::string token) const override { return spaces_ ? " " + token : token; }

 private:
  bool spaces_;
};

/// The byte of a token "<0xXX>".
std::optional<uint8_t> byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    int digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else
      return std::nullopt;
    byte = byte * 16 + digit;
  }
  return uint8_t(byte);
}

class ByteTokens : public DecodeStep {
 public:
  void push(StepState& state, std::string token, Sink next) const override {
    if (const std::optional<uint8_t> byte = byte_token(token)) {
      state.held += char(*byte);
      if (!state.early) return;
      std::string text;
      move_characters(state.held, text);
      if (!text.empty()) next(std::move(text));
      return;
    }
    finish(state, next);
    next(std::move(token));
  }
  void finish(StepState& state, Sink next) const override {
    if (state.held.empty()) return;
    const std::string bytes = std::move(state.held);
    state.held.clear();
    if (is_utf8(bytes)) return next(bytes);
    for (size_t i = 0; i < bytes.size(); i++) next(std::string(kReplacement));
  }
  std::string bytes_of(std::string token) const override {
    const std::optional<uint8_t> byte = byte_token(token);
    return byte ? std::string(1, char(*byte)) : token;
  }
};

class ReplaceInTokens : public DecodeStep {
 public:
  ReplaceInTokens(Pattern pattern, std::string content, bool joined)
      : pattern_(std::move(pattern)), content_(std::move(content)), joined_(joined) {}
  void push(StepState& state, std::string token, Sink next) const override {
    if (!joined_) return next(replaced(token));
    state.held += token;  // a match may span parts
  }
  void finish(StepState& state, Sink next) const override {
    if (!state.held.empty()) next(replaced(state.held));
  }
  std::string bytes_of(std::string token) const override {
    return is_utf8(token) ? replaced(token) : token;
  }

 private:
  std::string replaced(const std::string& text) const {
    std::vector<Span> matches;
    pattern_.find(text, matches);
    std::string result;
    size_t at = 0;
    for (const Span& match : matches) {
      result.append(text, at, match.begin - at);
      result += content_;
      at = match.end;
    }
    return result.append(text, at);
  }

  Pattern pattern_;
  std::string content_;
  bool joined_;
};

class StripTokens : public DecodeStep {
 public:
  StripTokens(std::string character, size_t start, size_t stop, bool joined)
      : character_(std::move(character)), start_(start), stop_(stop), joined_(joined) {}

  /// state.count: stripped at the start of the text; state.held: the possible end of the text.
  void push(StepState& state, std::string token, Sink next) const override {
    if (!joined_) state = StepState(state.early);
    if (!state.started) {
      size_t at = 0;
      while (state.count < start_ && token.compare(at, character_.size(), character_) == 0) {
        at += character_.size();
        state.count++;
      }
      token.erase(0, at);
      state.started = !token.empty();
    }
    token.insert(0, state.held);
    size_t end = token.size();
    for (size_t i = 0; i < stop_ && token.substr(0, end).ends_with(character_); i++)
      end -= character_.size();
    state.held = joined_ ? token.substr(end) : "";
    token.resize(end);
    next(std::move(token));
  }
  std::string bytes_of(std::string token) const override {
    if (joined_) return token;
    StepState state(true);
    std::string stripped;
    push(state, std::move(token), [&](std::string text) { stripped = std::move(text); });
    return stripped;
  }

 private:
  std::string character_;
  size_t start_, stop_;
  bool joined_;
};

class UnmarkSpaces : public DecodeStep {
 public:
  UnmarkSpaces(std::string mark, bool prepended, bool joined)
      : mark_(std::move(mark)), prepended_(prepended), joined_(joined) {}
  void push(StepState& state, std::string token, Sink next) const override {
    const bool first = joined_ || !state.started;
    state.started = true;
    next(unmarked(token, first));
  }
  std::string bytes_of(std::string token) const override { return unmarked(token, joined_); }

 private:
  std::string unmarked(const std::string& token, bool first) const {
    std::string text;
    size_t at = 0;
    for (size_t found; (found = token.find(mark_, at)) != token.npos; at = found + mark_.size()) {
      text.append(token, at, found - at);
      if (!first || !prepended_) text += ' ';
    }
    return text.append(token, at);
  }

  std::string mark_;
  bool prepended_, joined_;
};

class UnmarkEnds : public DecodeStep {
 public:
  explicit UnmarkEnds(std::string suffix) : suffix_(std::move(suffix)) {}
  void push(StepState& state, std::string token, Sink next) const override {
    if (state.started) next(replaced(state.held, " "));
    state.started = true;
    state.held = std::move(token);
  }
  void finish(StepState& state, Sink next) const override {
    if (state.started) next(replaced(state.held, ""));
  }
  std::string bytes_of(std::string token) const override { return replaced(token, " "); }

 private:
  std::string replaced(const std::string& token, const char* by) const {
    std::string text;
    size_t at = 0;
    if (!suffix_.empty())
      for (size_t found; (found = token.find(suffix_, at)) != token.npos;
           at = found + suffix_.size())
        text.append(token, at, found - at).append(by);
    return text.append(token, at);
  }

  std::string suffix_;
};

}  // namespace

std::unique_ptr<DecodeStep> join_bytes() { return std::make_unique<JoinBytes>(false); }
std::unique_ptr<DecodeStep> join_letters() { return std::make_unique<JoinBytes>(true); }
std::unique_ptr<DecodeStep> join_texts() { return std::make_unique<JoinTexts>(false); }
std::unique_ptr<DecodeStep> join_with_spaces() { return std::make_unique<JoinTexts>(true); }
std::unique_ptr<DecodeStep> decode_byte_tokens() { return std::make_unique<ByteTokens>(); }
std::unique_ptr<DecodeStep> replace_in_tokens(Pattern pattern, std::string content, bool joined) {
  return std::make_unique<ReplaceInTokens>(std::move(pattern), std::move(content), joined);
}
std::unique_ptr<DecodeStep> strip_tokens(std::string character, size_t start, size_t stop,
                                         bool joined) {
  return std::make_unique<StripTokens>(std::move(character), start, stop, joined);
}
std::unique_ptr<DecodeStep> unmark_spaces(std::string mark, bool prepended, bool joined) {
  return std::make_unique<UnmarkSpaces>(std::move(mark), prepended, joined);
}
std::unique_ptr<DecodeStep> unmark_ends(std::string suffix) {
  return std::make_unique<UnmarkEnds>(std::move(suffix));
}

Decoding::Decoding(const Decoder& decoder, bool early)
    : decoder_(&decoder), states_(decoder.size(), StepState(early)) {}

void Decoding::push(size_t step, std::string token, std::string& to) {
  if (step == states_.size()) {
    to += token;
    return;
  }
  (*decoder_)[step]->push(states_[step], std::move(token),
                          [&](std::string text) { push(step + 1, std::move(text), to); });
}

void Decoding::finish(std::string& to) {
  for (size_t step = 0; step < states_.size(); step++) {
    (*decoder_)[step]->finish(states_[step],
                              [&](std::string text) { push(step + 1, std::move(text), to); });
    states_[step] = StepState(states_[step].early);
  }
}

}  // namespace wick::tokenization
