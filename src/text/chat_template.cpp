#include "wick/text/chat_template.h"

#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"
#include "text/jinja/scope.h"

namespace wick {

struct ChatTemplate::Parsed {
  std::string where;
  jinja::Template tree;
};

ChatTemplate::ChatTemplate(std::string_view source, const std::string& where) {
  Parsed parsed{where, jinja::parse(source, where)};
  jinja::resolve(parsed.tree, where);
  parsed_ = std::make_shared<const Parsed>(std::move(parsed));
}

std::string ChatTemplate::render(const Settings& variables, const RenderOptions& options) const {
  jinja::Meter meter(parsed_->where, options.max_steps, options.max_bytes);
  jinja::Interpreter interpreter(parsed_->tree, meter, jinja::value_of(meter, variables),
                                 options.now ? options.now : std::chrono::system_clock::now);
  return interpreter.render();
}

Setting ChatMessage::setting() const {
  Settings fields;
  fields.set("role", role).set("content", content);
  for (const auto& [name, value] : more.entries()) fields.set(name, value);
  return fields;
}

std::string render_chat(const ChatTemplate& chat_template, const std::vector<ChatMessage>& messages,
                        const ChatOptions& options, const RenderOptions& render_options) {
  Setting::List list;
  for (const ChatMessage& message : messages) list.push_back(message.setting());
  Settings variables;
  variables.set("messages", std::move(list))
      .set("tools", options.tools.empty() ? Setting() : Setting(options.tools))
      .set("documents", nullptr)
      .set("add_generation_prompt", options.add_generation_prompt)
      .set("bos_token", options.bos_token)
      .set("eos_token", options.eos_token);
  for (const auto& [name, value] : options.more.entries()) variables.set(name, value);
  return chat_template.render(variables, render_options);
}

}  // namespace wick
