#include "text/answers/families.h"

#include <algorithm>

namespace wick::answers {
namespace {

constexpr std::string_view kJsonName = "{\"name\": \"";
constexpr std::string_view kJsonArguments = "\", \"arguments\": ";
constexpr std::string_view kJsonParameters = "\", \"parameters\": ";

/// The families of calls. The first row whose words are all in the template applies.
const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
      {.name = "gpt-oss",
       .words = {"<|channel|>", "<|message|>"},
       .kind = CallKind::kHarmony,
       .opens = {},
       .written = {.before_name = "<|channel|>commentary to=functions.",
                   .after_name = " <|constrain|>json<|message|>"}},
      {.name = "kimi-k2",
       .words = {"<|tool_calls_section_begin|>"},
       .kind = CallKind::kNamedJson,
       .opens = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
       .closes = {"<|tool_call_end|>", "<|tool_calls_section_end|>"},
       .inner_open = "<|tool_call_begin|>",
       .separator = "<|tool_call_argument_begin|>",
       .name_is_id = true,
       .written = {.begin = "<|tool_calls_section_begin|>",
                   .before_name = "<|tool_call_begin|>functions.",
                   .after_name = ":0<|tool_call_argument_begin|>",
                   .after_arguments = "<|tool_call_end|>",
                   .end = "<|tool_calls_section_end|>"}},
      // V3 and R1 write "function" SEPARATOR NAME and a fence of JSON; V3.1 NAME SEPARATOR JSON.
      {.name = "deepseek",
       .words = {"<｜tool▁calls▁begin｜>", "```json"},
       .kind = CallKind::kNamedJson,
       .opens = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"},
       .closes = {"```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"},
       .inner_open = "<｜tool▁call▁begin｜>",
       .separator = "<｜tool▁sep｜>",
       .takes_fence = true,
       .written = {.begin = "<｜tool▁calls▁begin｜>",
                   .before_name = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                   .after_name = "\n```json\n",
                   .after_arguments = "\n```<｜tool▁call▁end｜>",
                   .between = "\n",
                   .end = "<｜tool▁calls▁end｜>"}},
      {.name = "deepseek",
       .words = {"<｜tool▁calls▁begin｜>"},
       .kind = CallKind::kNamedJson,
       .opens = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"},
       .closes = {"```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"},
       .inner_open = "<｜tool▁call▁begin｜>",
       .separator = "<｜tool▁sep｜>",
       .takes_fence = true,
       .written = {.begin = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
                   .after_name = "<｜tool▁sep｜>",
                   .after_arguments = "<｜tool▁call▁end｜>",
                   .between = "<｜tool▁call▁begin｜>",
                   .end = "<｜tool▁calls▁end｜>"}},
      // A list of JSON until version 7 of its tokenizers, NAME [ARGS] JSON since.
      {.name = "mistral",
       .words = {"[TOOL_CALLS]", "[ARGS]"},
       .kind = CallKind::kNamedJson,
       .opens = {"[TOOL_CALLS]"},
       .separator = "[ARGS]",
       .id_mark = "[CALL_ID]",
       .takes_json = true,
       .short_ids = true,
       .written = {.begin = "[TOOL_CALLS]", .after_name = "[ARGS]", .between = "[TOOL_CALLS]"}},
      {.name = "mistral",
       .words = {"[TOOL_CALLS]"},
       .kind = CallKind::kNamedJson,
       .opens = {"[TOOL_CALLS]"},
       .separator = "[ARGS]",
       .id_mark = "[CALL_ID]",
       .takes_json = true,
       .short_ids = true,
       .written = {.begin = "[TOOL_CALLS][",
                   .before_name = kJsonName,
                   .after_name = kJsonArguments,
                   .after_arguments = "}",
                   .between = ", ",
                   .end = "]"}},
      {.name = "granite",
       .words = {"<|tool_call|>"},
       .kind = CallKind::kJson,
       .opens = {"<|tool_call|>", "<tool_call>"},
       .closes = {"</tool_call>", "<|/tool_call|>"},
       .written = {.begin = "<|tool_call|>[",
                   .before_name = kJsonName,
                   .after_name = kJsonArguments,
                   .after_arguments = "}",
                   .between = ", ",
                   .end = "]"}},
      {.name = "functionary",
       .words = {"<function=", "</function>", "<|python_tag|>"},
       .kind = CallKind::kNamedJson,
       .opens = {"<function="},
       .closes = {"</function>"},
       .separator = ">",
       .written = {.before_name = "<function=",
                   .after_name = ">",
                   .after_arguments = "</function>"}},
      {.name = "llama",
       .words = {"dictionary of argument name and its value"},
       .kind = CallKind::kWholeJson,
       .opens = {"<|python_tag|>"},
       .written = {.before_name = kJsonName,
                   .after_name = kJsonParameters,
                   .after_arguments = "}",
                   .between = "; "}},
      {.name = "glm",
       .words = {"<tool_call>", "<arg_key>", "<arg_value>"},
       .kind = CallKind::kTags,
       .opens = {"<tool_call>"},
       .separator = "</arg_key>",
       .key_open = "<arg_key>",
       .value_open = "<arg_value>",
       .value_close = "</arg_value>",
       .close = "</tool_call>",
       .written = {.before_name = "<tool_call>",
                   .after_name = "\n",
                   .after_arguments = "</tool_call>",
                   .between = "\n",
                   .before_value = "\n",
                   .after_value = "\n"}},
      {.name = "seed",
       .words = {"<seed:tool_call>", "<function=", "<parameter="},
       .kind = CallKind::kTags,
       .opens = {"<seed:tool_call>", "<function="},
       .closes = {"</seed:tool_call>"},
       .separator = ">",
       .name_open = "<function=",
       .key_open = "<parameter=",
       .value_close = "</parameter>",
       .close = "</function>",
       .written = {.before_name = "<seed:tool_call>\n<function=",
                   .after_name = ">\n",
                   .after_arguments = "</function>\n</seed:tool_call>",
                   .between = "\n",
                   .after_value = "\n"}},
      {.name = "minimax",
       .words = {"<minimax:tool_call>", "<invoke name=\"", "<parameter name=\""},
       .kind = CallKind::kTags,
       .opens = {"<minimax:tool_call>", "<invoke name=\""},
       .closes = {"</minimax:tool_call>"},
       .separator = "\">",
       .name_open = "<invoke name=\"",
       .key_open = "<parameter name=\"",
       .value_close = "</parameter>",
       .close = "</invoke>",
       .written = {.before_name = "<minimax:tool_call>\n<invoke name=\"",
                   .after_name = "\">\n",
                   .after_arguments = "</invoke>\n</minimax:tool_call>",
                   .between = "\n",
                   .after_value = "\n"}},
      // Qwen3-Coder, Qwen3.5, Nemotron 3.
      {.name = "qwen-xml",
       .words = {"<tool_call>", "<function=", "<parameter="},
       .kind = CallKind::kTags,
       .opens = {"<tool_call>", "<function="},
       .closes = {"</tool_call>"},
       .separator = ">",
       .name_open = "<function=",
       .key_open = "<parameter=",
       .value_close = "</parameter>",
       .close = "</function>",
       .written = {.before_name = "<tool_call>\n<function=",
                   .after_name = ">\n",
                   .after_arguments = "</function>\n</tool_call>",
                   .between = "\n",
                   .before_value = "\n",
                   .after_value = "\n",
                   .before_close = "\n"}},
      // Qwen2.5, Qwen3, Granite 4 and others that follow Hermes 2 Pro.
      {.name = "hermes",
       .words = {"<tool_call>", "arguments"},
       .kind = CallKind::kJson,
       .opens = {"<tool_call>"},
       .closes = {"</tool_call>"},
       .written = {.before_name = "<tool_call>\n{\"name\": \"",
                   .after_name = kJsonArguments,
                   .after_arguments = "}\n</tool_call>",
                   .between = "\n"}},
      {.name = "command-r7b",
       .words = {"<|START_ACTION|>"},
       .kind = CallKind::kJson,
       .opens = {"<|START_ACTION|>"},
       .closes = {"<|END_ACTION|>"},
       .written = {.begin = "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", ",
                   .before_name = "\"tool_name\": \"",
                   .after_name = kJsonParameters,
                   .after_arguments = "}",
                   .end = "\n]<|END_ACTION|>"}},
      {.name = "nemotron",
       .words = {"<TOOLCALL>"},
       .kind = CallKind::kJson,
       .opens = {"<TOOLCALL>"},
       .closes = {"</TOOLCALL>"},
       .written = {.begin = "<TOOLCALL>[",
                   .before_name = kJsonName,
                   .after_name = kJsonArguments,
                   .after_arguments = "}",
                   .between = ", ",
                   .end = "]</TOOLCALL>"}},
  };
  return kFamilies;
}

/// The first row that the template has a marker of applies.
constexpr ReasoningMarks kReasonings[] = {
    {"[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"Here is my thought process:", "Here is my response:"},
    {"<think>", "</think>", "<response>", "</response>"},
};

bool has(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

/// Adds markers to a format.
class Marker {
 public:
  Marker(Format& format, const Tokenizer& tokenizer) : format_(format), tokenizer_(tokenizer) {}

  bool is_token(std::string_view spelling) const { return token(spelling) >= 0; }

  Symbols symbols(std::string_view spelling) {
    const int64_t id = spelling.empty() ? -1 : token(spelling);
    if (id < 0) return symbols_of(spelling);
    size_t i = 0;
    while (i < format_.marks.size() && format_.marks[i].id != id) i++;
    if (i == format_.marks.size())
      format_.marks.push_back({id, std::string(spelling), tokenizer_.is_special(id)});
    return {Symbol(kFirstMark + i)};
  }
  std::vector<Symbols> symbols(const std::vector<std::string_view>& spellings) {
    std::vector<Symbols> result;
    for (const std::string_view spelling : spellings) result.push_back(symbols(spelling));
    return result;
  }

 private:
  /// The added token that is spelled so; -1 if there is no such token.
  int64_t token(std::string_view spelling) const {
    const std::optional<int64_t> id = tokenizer_.id_of(spelling);
    return id && tokenizer_.is_added(*id) ? *id : -1;
  }

  Format& format_;
  const Tokenizer& tokenizer_;
};

}  // namespace

std::shared_ptr<const Format> make_format(std::string_view chat_template,
                                          const Tokenizer& tokenizer) {
  const auto made = std::make_shared<Format>();
  Format& format = *made;
  format.tokenizer = tokenizer;
  Marker marker(format, tokenizer);
  for (const Family& family : families()) {
    if (!std::all_of(family.words.begin(), family.words.end(),
                     [&](std::string_view word) { return has(chat_template, word); }))
      continue;
    format.family = &family;
    format.opens = marker.symbols(family.opens);
    format.closes = marker.symbols(family.closes);
    format.inner_open = marker.symbols(family.inner_open);
    format.separator = marker.symbols(family.separator);
    format.id_mark = marker.symbols(family.id_mark);
    format.name_open = marker.symbols(family.name_open);
    format.key_open = marker.symbols(family.key_open);
    format.value_open = marker.symbols(family.value_open);
    format.value_close = marker.symbols(family.value_close);
    format.close = marker.symbols(family.close);
    break;
  }
  if (format.family && format.family->kind == CallKind::kHarmony) {
    format.start = marker.symbols("<|start|>");
    format.channel = marker.symbols("<|channel|>");
    format.constrain = marker.symbols("<|constrain|>");
    format.message = marker.symbols("<|message|>");
    format.ends = marker.symbols({"<|end|>", "<|call|>", "<|return|>"});
    return made;
  }
  const auto is_used = [&](const ReasoningMarks& marks) {
    return has(chat_template, marks.open) || has(chat_template, marks.close) ||
           (marker.is_token(marks.open) && marker.is_token(marks.close));
  };
  for (const ReasoningMarks& marks : kReasonings) {
    if (!is_used(marks)) continue;
    format.has_reasoning = true;
    format.think_open = marker.symbols(marks.open);
    format.think_close = marker.symbols(marks.close);
    if (!marks.content_open.empty() && has(chat_template, marks.content_open)) {
      format.content_open = marker.symbols(marks.content_open);
      format.content_close = marker.symbols(marks.content_close);
    }
    break;
  }
  return made;
}

}  // namespace wick::answers
