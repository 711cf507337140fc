// The request of OpenAI's API of responses, without state: the conversation is in it.
#include "serve/requests.h"

namespace wick::serve {
namespace {

/// Refuses fields that refer to answers and settings which OpenAI's servers keep.
void refuse_state(const Fields& body) {
  for (const char* key : {"previous_response_id", "conversation", "prompt"})
    if (body.find(key))
      fail_unsupported(key, "this server keeps nothing; send the whole conversation in input");
  for (const char* key : {"store", "background"})
    if (body.flag(key).value_or(false))
      fail_unsupported(key, "this server keeps nothing; expected false");
}

/// tools and tool_choice as chats have them, whose functions are objects of their own.
Settings chat_tools(const Fields& body) {
  Settings chat;
  if (const Setting::List* tools = body.list("tools")) {
    Setting::List list;
    for (size_t i = 0; i < tools->size(); i++) {
      const Fields tool = object_in(*tools, i, body.name("tools"));
      const std::string type = tool.text("type").value_or("");
      if (type != "function") {
        const Setting* const given = tool.find("type");
        fail_field(tool.name("type"), "function, as this server runs no tools of its own",
                   given ? *given : Setting());
      }
      if (!tool.text("name")) fail_field(tool.name("name"), "a string", nullptr);
      Settings function, outer;
      for (const auto& [key, value] : tool.settings().entries())
        if (key != "type") function.set(key, value);
      outer.set("type", "function").set("function", std::move(function));
      list.push_back(std::move(outer));
    }
    chat.set("tools", std::move(list));
  }
  if (const Setting* const choice = body.find("tool_choice")) {
    const std::string* const word = std::get_if<std::string>(&choice->value);
    if ((word && *word == "required") || std::holds_alternative<Settings>(choice->value))
      fail_unsupported("tool_choice", "a call cannot be forced yet; expected auto or none");
    chat.set("tool_choice", *choice);
  }
  if (const Setting* const more = body.find("chat_template_kwargs"))
    chat.set("chat_template_kwargs", *more);
  if (const auto reasoning = body.object("reasoning"))
    if (const auto effort = reasoning->text("effort")) chat.set("reasoning_effort", *effort);
  return chat;
}

bool includes_logprobs(const Fields& body) {
  if (const Setting::List* include = body.list("include"))
    for (const Setting& item : *include)
      if (const std::string* text = std::get_if<std::string>(&item.value);
          text && *text == "message.output_text.logprobs")
        return true;
  return false;
}

}  // namespace

ResponseRequest read_response(const Fields& body, const RequestLimits& limits) {
  refuse_state(body);
  ResponseRequest request;
  TextOptions& options = request.options;
  options = read_options(body, limits);
  options.choices = 1;
  options.max_tokens = body.integer("max_output_tokens", 1);
  constexpr int64_t kMaxLogprobs = 20;
  const int64_t top = body.integer("top_logprobs", 0, kMaxLogprobs).value_or(0);
  if (includes_logprobs(body)) options.logprobs = top;
  if (const auto text = body.object("text"))
    if (const auto format = text->object("format")) {
      std::optional<Grammar> grammar = read_format(*format, format);
      if (grammar && options.grammar)
        fail_unsupported(format->path(), "expected one grammar, got several");
      if (grammar) options.grammar = std::move(grammar);
    }
  request.messages = read_input(body, limits);
  const Settings tools = chat_tools(body);
  request.layout = read_layout(Fields(tools));
  return request;
}

}  // namespace wick::serve
