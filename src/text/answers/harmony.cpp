// The channels of gpt-oss. Source: OpenAI's "harmony response format".
#include <algorithm>

#include "text/answers/reader.h"

namespace wick::answers {
namespace {

using Kind = AnswerEvent::Kind;

/// A header without its end is content once it is longer, in symbols.
constexpr size_t kMaxHeader = 512;
constexpr size_t kMaxCall = 1 << 20;

/// Messages, each of a header, such as "<|start|>assistant<|channel|>commentary to=functions.f
/// <|constrain|>json", a <|message|>, a body and an end. The prompt has the start of the first.
class HarmonyReader : public Reader {
 public:
  using Reader::Reader;

 private:
  enum class State {
    kFirst,  // of the answer, which may lack a header
    kHeader,
    kReasoning,
    kContent,
    kCall,
  };

  bool step() override {
    if (rest().empty()) return false;
    switch (state_) {
      case State::kFirst:
        return start();
      case State::kHeader:
        return read_header();
      default:
        return read_body();
    }
  }

  void end() override {
    if (state_ == State::kHeader)
      add_text(Kind::kContent, header_text());
    else if (state_ == State::kCall)
      end_call();
  }

  bool start() {
    for (const Symbols* mark : {&format_.channel, &format_.start, &format_.message})
      if (const Match found = match(*mark); found != Match::kNo) {
        if (found == Match::kWhole) state_ = State::kHeader;
        return found == Match::kWhole;
      }
    state_ = rest().front() == ' ' ? State::kHeader : State::kContent;
    return true;
  }

  /// Collects a header: its text, and the part of it that names the channel.
  bool read_header() {
    bool may_be_marker = false;
    const auto skip = [&](const Symbols& marker) {
      const Match found = match(marker);
      may_be_marker |= found == Match::kPart;
      if (found == Match::kWhole) take(marker.size());
      return found == Match::kWhole;
    };
    if (skip(format_.start)) {
      clear_header();
      has_role_ = true;
    } else if (skip(format_.channel)) {
      has_channel_ = true;
    } else if (skip(format_.constrain)) {
      (has_channel_ ? channel_ : role_) += ' ';
    } else if (skip(format_.message)) {
      begin_body();
    } else if (std::any_of(format_.ends.begin(), format_.ends.end(), skip)) {
      add_text(Kind::kContent, header_text());
      clear_header();
    } else if (may_be_marker) {
      return false;
    } else {
      (has_channel_ ? channel_ : role_) += visible(rest().substr(0, 1));
      take(1);
      if (role_.size() + channel_.size() > kMaxHeader) {
        add_text(Kind::kContent, header_text());
        clear_header();
        state_ = State::kContent;
      }
    }
    return true;
  }
  void clear_header() {
    role_.clear();
    channel_.clear();
    has_channel_ = has_role_ = false;
  }
  /// The header as the client's text has it, but for the role, which is no part of an answer.
  std::string header_text() const {
    std::string_view role = role_;
    if (has_role_ && role.starts_with("assistant")) role.remove_prefix(9);
    return std::string(role) + channel_;
  }

  void begin_body() {
    const std::string_view channel = trimmed(channel_);
    const std::string_view name = channel.substr(0, channel.find(' '));
    recipient_ = recipient(channel_);
    if (recipient_.empty()) recipient_ = recipient(role_);
    constexpr std::string_view kFunctions = "functions.";
    function_ = recipient_.starts_with(kFunctions) ? recipient_.substr(kFunctions.size()) : "";
    if (tools_.has(function_)) {
      state_ = State::kCall;
    } else if (name == "analysis") {
      if (has_reasoning_) add_text(Kind::kReasoning, "\n");
      state_ = State::kReasoning;
    } else {
      if (!recipient_.empty()) add_text(Kind::kContent, header_text());
      state_ = State::kContent;
    }
  }
  /// The name after "to="; "" without one.
  static std::string recipient(const std::string& text) {
    constexpr std::string_view kTo = " to=";
    const size_t at = (" " + text).find(kTo);
    if (at == text.npos) return "";
    const size_t begin = at + kTo.size() - 1;
    return text.substr(begin, text.find_first_of(" \n", begin) - begin);
  }

  bool read_body() {
    bool may_be_marker = false;
    const auto is_next = [&](const Symbols& marker) {
      const Match found = match(marker);
      may_be_marker |= found == Match::kPart;
      return found == Match::kWhole;
    };
    const auto end = std::find_if(format_.ends.begin(), format_.ends.end(), is_next);
    if (end != format_.ends.end() || is_next(format_.start) || is_next(format_.channel)) {
      if (state_ == State::kCall) end_call();
      if (end != format_.ends.end()) take(end->size());
      clear_header();
      state_ = State::kHeader;
      return true;
    }
    if (may_be_marker) return false;
    const std::string text = visible(rest().substr(0, 1));
    take(1);
    if (state_ == State::kCall) {
      body_ += text;
      if (body_.size() > kMaxCall) {
        end_call();
        state_ = State::kContent;
      }
    } else {
      has_reasoning_ |= state_ == State::kReasoning;
      add_text(state_ == State::kReasoning ? Kind::kReasoning : Kind::kContent, text);
    }
    return true;
  }
  /// The body is a call's arguments, or content.
  void end_call() {
    if (is_json_object(body_))
      add_call({.name = function_, .arguments = std::string(trimmed(body_))});
    else
      add_text(Kind::kContent, header_text() + body_);
    body_.clear();
  }

  State state_ = State::kFirst;
  std::string role_, channel_;  // parts of the header
  bool has_role_ = false;       // after a <|start|> of its own
  bool has_channel_ = false, has_reasoning_ = false;
  std::string recipient_, function_, body_;
};

}  // namespace

std::unique_ptr<Reader> make_harmony_reader(const Format& format, const Tools& tools,
                                            bool is_single_call) {
  return std::make_unique<HarmonyReader>(format, tools, is_single_call);
}

}  // namespace wick::answers
