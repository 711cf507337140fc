// The fields of chats and responses about tools, and the variables of the template.
#include <algorithm>

#include "serve/requests.h"

namespace wick::serve {
namespace {

constexpr const char* kChoice = "tool_choice";

/// One of the tools.
struct Function {
  std::string name;
  Settings tool;      // as chats have it
  std::string field;  // of the function in the request
};

[[noreturn]] void fail_type(const Fields& tool, const std::string& expected) {
  const Setting* const given = tool.find("type");
  fail_field(tool.name("type"), expected, given ? *given : Setting());
}

Function read_function(const Fields& tool, ToolForm form) {
  if (form == ToolForm::kChat) {
    if (tool.text("type").value_or("function") != "function") fail_type(tool, "function");
    const std::optional<Fields> function = tool.object("function");
    const std::optional<std::string> name = function ? function->text("name") : std::nullopt;
    if (!name) fail_field(tool.name("function"), "an object with a name", nullptr);
    return {*name, tool.settings(), tool.name("function")};
  }
  if (tool.text("type").value_or("") != "function")
    fail_type(tool, "function, as this server runs no tools of its own");
  const std::optional<std::string> name = tool.text("name");
  if (!name) fail_field(tool.name("name"), "a string", nullptr);
  Settings function, outer;
  for (const auto& [key, value] : tool.settings().entries())
    if (key != "type") function.set(key, value);
  outer.set("type", "function").set("function", std::move(function));
  return {*name, std::move(outer), tool.path()};
}

/// Which of the functions an answer may call.
struct ToolChoice {
  bool is_none = false;                             // it may call nothing
  std::optional<std::vector<std::string>> allowed;  // missing: all
  std::optional<std::string> forced_function;       // as of ChatRequest

  bool allows(const std::string& name) const {
    return !is_none &&
           (!allowed || std::find(allowed->begin(), allowed->end(), name) != allowed->end());
  }
};

/// The name in an object that refers to one of the functions.
std::string referred_name(const Fields& reference, ToolForm form) {
  if (reference.text("type").value_or("function") != "function")
    fail_type(reference, "function or allowed_tools");
  const std::optional<Fields> holder =
      form == ToolForm::kChat ? reference.object("function") : reference;
  const std::optional<std::string> name = holder ? holder->text("name") : std::nullopt;
  if (name && !name->empty()) return *name;
  if (form == ToolForm::kChat)
    fail_field(reference.name("function"), "an object with a name", nullptr);
  fail_field(reference.name("name"), "the name of a function", nullptr);
}

ToolChoice read_allowed(const Fields& choice, ToolForm form) {
  const std::optional<Fields> holder =
      form == ToolForm::kChat ? choice.object("allowed_tools") : choice;
  if (!holder) fail_field(choice.name("allowed_tools"), "an object", nullptr);
  ToolChoice result;
  const std::string mode = holder->text("mode").value_or("");
  if (mode != "auto" && mode != "required")
    fail_field(holder->name("mode"), "auto or required", Setting(mode));
  if (mode == "required") result.forced_function = "";
  const Setting::List* const list = holder->list("tools");
  if (!list || list->empty()) fail_field(holder->name("tools"), "a list of functions", nullptr);
  result.allowed.emplace();
  for (size_t i = 0; i < list->size(); i++)
    result.allowed->push_back(referred_name(object_in(*list, i, holder->name("tools")), form));
  return result;
}

ToolChoice read_tool_choice(const Fields& body, ToolForm form) {
  constexpr const char* kExpected = "none, auto, required or an object";
  ToolChoice result;
  const Setting* const given = body.find(kChoice);
  if (!given) return result;
  if (const std::string* const word = std::get_if<std::string>(&given->value)) {
    if (*word != "none" && *word != "auto" && *word != "required")
      fail_field(kChoice, kExpected, *given);
    result.is_none = *word == "none";
    if (*word == "required") result.forced_function = "";
    return result;
  }
  if (!std::holds_alternative<Settings>(given->value)) fail_field(kChoice, kExpected, *given);
  const Fields choice = *body.object(kChoice);
  if (choice.text("type").value_or("function") == "allowed_tools")
    return read_allowed(choice, form);
  result.forced_function = referred_name(choice, form);
  return result;
}

void read_tools(const Fields& body, ToolForm form, ChatRequest& request) {
  const ToolChoice choice = read_tool_choice(body, form);
  std::vector<std::string> names;
  const Setting::List* const tools = body.list("tools");
  for (size_t i = 0; tools && i < tools->size(); i++) {
    Function function = read_function(object_in(*tools, i, body.name("tools")), form);
    if (!choice.allows(function.name)) continue;
    names.push_back(std::move(function.name));
    request.layout.tools.push_back(std::move(function.tool));
    request.tool_fields.push_back(std::move(function.field));
  }
  const auto require = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail_unsupported(kChoice, "there is no function \"" + name + "\" among the tools");
  };
  if (choice.allowed)
    for (const std::string& name : *choice.allowed) require(name);
  if (choice.forced_function) {
    if (names.empty()) fail_unsupported(kChoice, "expected tools beside it");
    if (!choice.forced_function->empty()) require(*choice.forced_function);
    if (request.options.grammar)
      fail_unsupported(kChoice, "expected auto or none beside a grammar or a format");
  }
  request.forced_function = choice.forced_function;
  request.is_single_call = !body.flag("parallel_tool_calls").value_or(true);
}

}  // namespace

void read_layout(const Fields& body, ToolForm form, ChatRequest& request) {
  read_tools(body, form, request);
  ChatOptions& layout = request.layout;
  const bool is_chat = form == ToolForm::kChat;
  const std::optional<Fields> reasoning = is_chat ? body : body.object("reasoning");
  if (reasoning)
    if (const auto effort = reasoning->text(is_chat ? "reasoning_effort" : "effort"))
      layout.more.set("reasoning_effort", *effort);
  const auto variables = body.object("chat_template_kwargs");
  if (!variables) return;
  for (const auto& [name, value] : variables->settings().entries()) {
    // Those that the request and the model themselves set.
    for (const char* own :
         {"messages", "tools", "documents", "bos_token", "eos_token", "add_generation_prompt"})
      if (name == own) fail_unsupported(variables->name(name), "expected another variable");
    layout.more.set(name, value);
  }
}

}  // namespace wick::serve
