// The families of chat templates, as answers to them are written.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/answers/symbols.h"
#include "wick/text/grammar.h"
#include "wick/text/tokenizer.h"

namespace wick::answers {

enum class CallKind {
  kJson,       // OPEN {"name": ..., "arguments": {...}}, or a list of these
  kWholeJson,  // the same objects, separated by ";", as the whole answer
  kNamedJson,  // OPEN NAME SEPARATOR {...}
  kTags,       // OPEN NAME KEY VALUE KEY VALUE CLOSE
  kHarmony,    // channels
};

/// A forced answer: BEGIN, calls with BETWEEN between them, END. Markers may be tokens.
struct CallText {
  std::string_view begin = {}, before_name = {}, after_name = {}, after_arguments = {};
  std::string_view between = {};  // "": the answer has one call
  std::string_view end = {};
  /// kTags: before a value, after the marker that closes it, and before that marker if the value is
  /// no free text.
  std::string_view before_value = {}, after_value = {}, before_close = {};
};

/// A family's markers as texts, a list of alternatives each.
struct Family {
  std::string_view name;
  /// The template has all of these texts.
  std::vector<std::string_view> words;
  CallKind kind;
  /// Markers that begin a call, or a list of calls.
  std::vector<std::string_view> opens;
  /// Markers that are skipped after a call.
  std::vector<std::string_view> closes = {};
  /// kNamedJson: may stand between OPEN and the name.
  std::string_view inner_open = {};
  /// kNamedJson: ends the name. kTags: ends the name and a key.
  std::string_view separator = {};
  /// kNamedJson: the marker between the name and an id.
  std::string_view id_mark = {};
  /// kNamedJson: OPEN may be followed by JSON as of kJson; the separator may be missing.
  bool takes_json = false;
  /// kNamedJson: a word may stand in the name's place, and after the separator the name and a fence
  /// around JSON.
  bool takes_fence = false;
  /// kNamedJson: the name is "functions.NAME:INDEX", and the call's id.
  bool name_is_id = false;
  /// kTags: before the name, before a key, before and after a value.
  std::string_view name_open = {}, key_open = {}, value_open = {}, value_close = {};
  /// kTags: ends the call.
  std::string_view close = {};
  bool short_ids = false;
  CallText written = {};
};

/// Reasoning between two markers.
struct ReasoningMarks {
  std::string_view open, close;
  /// Around the content after it.
  std::string_view content_open = {}, content_close = {};
};

/// A family's markers as symbols of one vocabulary.
struct Format {
  const Family* family = nullptr;  // nullptr: no calls
  std::vector<Symbols> opens, closes;
  Symbols inner_open, separator, id_mark, name_open, key_open, value_open, value_close, close;
  bool has_reasoning = false;  // between markers
  Symbols think_open, think_close, content_open, content_close;
  /// Of kHarmony.
  Symbols start, channel, constrain, message;
  std::vector<Symbols> ends;
  std::vector<Mark> marks;
  std::optional<Tokenizer> tokenizer;
  /// For grammars: markers have bytes of their own.
  mutable std::once_flag has_marked_tokens;
  mutable std::optional<TokenTable> marked_tokens;
};

/// The format of a model's answers.
std::shared_ptr<const Format> make_format(std::string_view chat_template,
                                          const Tokenizer& tokenizer);

}  // namespace wick::answers
