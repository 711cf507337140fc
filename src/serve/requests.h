// The requests of OpenAI's API that generate text, read from JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "serve/fields.h"
#include "wick/load/sampling.h"
#include "wick/text/chat_template.h"
#include "wick/text/grammar.h"

namespace wick::serve {

/// The fields that chat and completions share.
struct TextOptions {
  Sampling sampling;
  std::optional<uint64_t> seed;
  std::optional<int64_t>
      max_tokens;  // missing: until the model ends the text or the context is full
  std::vector<std::string> stop;
  std::optional<Grammar> grammar;  // of response_format and its like
  std::optional<Setting> format;   // of JSON: its schema, of which grammar is
  int64_t choices = 1;
  std::optional<int64_t> logprobs;  // so many of the likeliest tokens beside each one
  bool ignores_end = false;         // no token ends the text
  bool streams = false, includes_usage = false;
};

/// The facts of the model that requests are checked against, and the start of their sampling.
struct RequestLimits {
  Sampling sampling;
  int64_t vocab_size = 0;
  bool reads_images = false;
};

/// Reads them. Errors: RequestError 400, naming the field.
TextOptions read_options(const Fields& body, const RequestLimits& limits);
/// Sets format and grammar for a format of the type json_object or json_schema, but not for text.
/// described: has the schema of json_schema. Errors: RequestError 400, also beside another grammar.
void read_format(const Fields& format, const std::optional<Fields>& described,
                 TextOptions& options);

/// A chat, or a response without state.
struct ChatRequest {
  TextOptions options;
  std::vector<ChatMessage> messages;
  ChatOptions layout;
  std::vector<std::string> tool_fields = {};  // of the functions of layout.tools in the request
  bool is_single_call = false;                // the answer ends after the first call of a tool
  /// The function that the answer must call, "": one of the tools; missing: it may do without.
  std::optional<std::string> forced_function = {};
};
/// Errors: RequestError 400, naming the field.
ChatRequest read_chat(const Fields& body, const RequestLimits& limits);

/// Errors: RequestError 400, naming the field.
ChatRequest read_response(const Fields& body, const RequestLimits& limits);

/// A text, or its ids.
using PromptInput = std::variant<std::string, std::vector<int64_t>>;

struct CompletionRequest {
  TextOptions options;
  std::vector<PromptInput> prompts;
  bool echoes = false;  // the text begins with the prompt
};
/// Errors: RequestError 400, naming the field.
CompletionRequest read_completion(const Fields& body, const RequestLimits& limits);

/// The texts of a field that is a string, a list of strings, a list of ids or a list of such lists.
/// Errors: RequestError 400, also if it is missing.
std::vector<PromptInput> read_inputs(const Fields& body, std::string_view key,
                                     const RequestLimits& limits);
/// The ids of a list. name: of the field. Errors: RequestError 400.
std::vector<int64_t> read_ids(const Setting::List& list, const std::string& name,
                              const RequestLimits& limits);
/// The messages of a chat. Errors: RequestError 400.
std::vector<ChatMessage> read_messages(const Fields& body, const RequestLimits& limits);
/// The instructions and input of a response, as a chat. Errors: RequestError 400.
std::vector<ChatMessage> read_input(const Fields& body, const RequestLimits& limits);

/// How an API writes functions: chats have an object "function" in each tool, responses have its
/// fields beside "type".
enum class ToolForm { kChat, kResponse };
/// tools, tool_choice, parallel_tool_calls and chat_template_kwargs, into a request whose options
/// have been read. Errors: RequestError 400.
void read_layout(const Fields& body, ToolForm form, ChatRequest& request);

}  // namespace wick::serve
