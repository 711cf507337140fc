// Answers of chat models: reasoning, content and calls of tools.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"
#include "wick/base/settings.h"
#include "wick/text/grammar.h"
#include "wick/text/tokenizer.h"

namespace wick {

namespace answers {
struct Format;
class Reader;
class TokenMarks;
}  // namespace answers

/// Which calls an answer must have.
struct CallGrammarOptions {
  std::string function = {};  // exactly one call, of this function; "": of any of the tools
  bool is_single_call = false;
  /// As of AnswerOptions.
  std::vector<int64_t> prompt = {};
  /// A JSON schema: the answer calls functions, or is a value of the schema. Missing: it must call.
  std::optional<Setting> content = {};
};

/// How a model writes its reasoning and its calls of tools: src/text/answers/families.cpp lists the
/// families. A cheap copyable value; several threads may share it.
class WICK_API AnswerFormat {
 public:
  /// Without reasoning and calls: all of an answer is content.
  AnswerFormat();
  /// Chooses the family by the source of the model's chat template (ChatTemplate::source). A marker
  /// that the vocabulary has as one token, such as [TOOL_CALLS], is recognised as this token alone;
  /// other markers are recognised as texts.
  AnswerFormat(std::string_view chat_template, const Tokenizer& tokenizer);

  /// The family of calls, such as "mistral"; "" if the template has no calls that wick knows.
  std::string_view calls() const;
  bool has_reasoning() const;
  /// The answers that call at least one of the functions, after reasoning if the model reasons, or
  /// in place of calls give options.content.
  /// Arguments are values of the function's "parameters" as Grammar::json_schema has them; in
  /// families that write tags, a string has no other keyword than "enum", properties come in their
  /// order, and there are no others. tools: as of ChatOptions. Only for generations with the
  /// tokenizer of this format.
  /// Errors: kUnsupported if the template has no calls, or for a schema that cannot be held, naming
  /// its place, such as "tools[0].function.parameters: #/not"; kInvalidArgument if there is no such
  /// function; as Grammar::json_schema.
  Grammar call_grammar(const Setting::List& tools, const CallGrammarOptions& options = {}) const;
  /// Whether the template takes only ids of nine letters and digits for calls.
  bool has_short_call_ids() const;

 private:
  friend class AnswerParser;
  std::shared_ptr<const answers::Format> format_;
};

/// A part of an answer.
struct AnswerEvent {
  enum class Kind {
    kReasoning,  // text: a part of the reasoning
    kContent,    // text: a part of the content
    kCallBegin,  // text: the function's name
    kArguments,  // text: a part of the JSON object of the call's arguments
    kCallEnd,
  };
  Kind kind = Kind::kContent;
  std::string text = {};
  int64_t call = 0;     // the index of the call that the event belongs to
  std::string id = {};  // of kCallBegin: the call's id if the model writes ids, or ""
};

struct AnswerOptions {
  /// The functions that may be called, as of ChatOptions::tools. Without any, calls stay content.
  Setting::List tools = {};
  /// The last ids of the prompt, 64 suffice: a prompt may open the reasoning.
  std::vector<int64_t> prompt = {};
  /// Ignores all that follows the first call.
  bool is_single_call = false;
};

/// Reads an answer piece by piece. A call counts only if its function is one of the tools and its
/// arguments are a whole JSON object; any other text that looks like one is content, byte for byte.
/// So a call is given once it is complete. White space around reasoning and calls is left out, but
/// kept where further content follows a call.
///
///   AnswerParser parser(format, tokenizer, {.tools = tools, .prompt = ids});
///   while (const auto piece = stream.next()) show(parser.push(piece->text, piece->ids));
///   show(parser.finish());
///
/// Takes any input. Time: linear in the text. Holds back at most 1 MiB, the longest call.
class WICK_API AnswerParser {
 public:
  AnswerParser(const AnswerFormat& format, const Tokenizer& tokenizer, AnswerOptions options = {});
  ~AnswerParser();
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;

  /// text: the next part of the answer, without special tokens. ids: the next tokens, whose text
  /// may come later, as EnginePiece has them; they distinguish markers that are tokens from texts
  /// that are spelled alike.
  std::vector<AnswerEvent> push(std::string_view text, std::span<const int64_t> ids);
  /// The end of the answer: the events of the text that was held back.
  std::vector<AnswerEvent> finish();

  /// The calls that have been given.
  int64_t calls() const;
  /// Whether nothing that follows can give an event: after the first call if is_single_call.
  bool is_complete() const;

 private:
  std::unique_ptr<answers::TokenMarks> marks_;
  std::unique_ptr<answers::Reader> reader_;
};

}  // namespace wick
