#include "wick/text/chat_template.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"
#include "text/jinja/scope.h"

namespace wick {
namespace {

using jinja::MarkedString;
using jinja::Meter;
using jinja::Value;

/// Whether a role is a word, which templates may write tokens with.
bool is_word(std::string_view role) {
  return std::all_of(role.begin(), role.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' ||
           c == '-';
  });
}

/// A text of users after an image's tokens, which stand at its start.
Value text_after(Meter& meter, const std::string& text, const std::string& tokens) {
  MarkedString string;
  string += with_valid_utf8(tokens);
  const size_t begin = string.size();
  string += with_valid_utf8(std::string_view(text).substr(tokens.size()));
  string.mark_from(begin);
  return make_text(meter, std::move(string));
}

/// image_tokens: of this message; a content that starts with them is text of users only after them.
Value message_value(Meter& meter, const Setting& setting, const std::string& image_tokens) {
  const auto* const message = std::get_if<Settings>(&setting.value);
  if (!message) return value_of(meter, setting, true);
  jinja::Entries entries;
  for (const auto& [key, value] : message->entries()) {
    const auto* const text = std::get_if<std::string>(&value.value);
    Value name = value_of(meter, key, true);
    if (text && key == "role")
      entries.emplace_back(std::move(name), value_of(meter, value, !is_word(*text)));
    else if (text && key == "content" && !image_tokens.empty() && text->starts_with(image_tokens))
      entries.emplace_back(std::move(name), text_after(meter, *text, image_tokens));
    else
      entries.emplace_back(std::move(name), value_of(meter, value, true));
  }
  return make_dict(meter, std::move(entries));
}

/// image_tokens: by message, empty without any.
Value messages_value(Meter& meter, const Setting& setting,
                     const std::vector<std::string>& image_tokens) {
  const auto* const messages = std::get_if<Setting::List>(&setting.value);
  if (!messages) return value_of(meter, setting, true);
  jinja::Items items;
  for (size_t i = 0; i < messages->size(); i++)
    items.push_back(message_value(meter, (*messages)[i],
                                  i < image_tokens.size() ? image_tokens[i] : std::string()));
  return make_list(meter, std::move(items));
}

/// The variables with marks on those that come from users.
Value marked_variables(Meter& meter, const Settings& variables,
                       const std::vector<std::string>& image_tokens) {
  jinja::Entries entries;
  for (const auto& [name, value] : variables.entries()) {
    const bool from_users = name == "tools" || name == "documents";
    entries.emplace_back(value_of(meter, name), name == "messages"
                                                    ? messages_value(meter, value, image_tokens)
                                                    : value_of(meter, value, from_users));
  }
  return make_dict(meter, std::move(entries));
}

}  // namespace

struct ChatTemplate::Parsed {
  std::string source, where;
  jinja::Template tree;

  /// variables(meter): a dict.
  template <class F>
  MarkedText run(const F& variables, const RenderOptions& options) const {
    Meter meter(where, options.max_steps, options.max_bytes);
    jinja::Interpreter interpreter(tree, meter, variables(meter),
                                   options.now ? options.now : std::chrono::system_clock::now);
    MarkedString string = interpreter.render();
    std::vector<ByteRange> user = string.marks().ranges();
    return {std::move(string).take_bytes(), std::move(user)};
  }
};

ChatTemplate::ChatTemplate(std::string_view source, const std::string& where) {
  Parsed parsed{std::string(source), where, jinja::parse(source, where)};
  jinja::resolve(parsed.tree, where);
  parsed_ = std::make_shared<const Parsed>(std::move(parsed));
}

const std::string& ChatTemplate::source() const { return parsed_->source; }

std::string ChatTemplate::render(const Settings& variables, const RenderOptions& options) const {
  return parsed_->run([&](Meter& meter) { return value_of(meter, variables); }, options).text;
}

MarkedText ChatTemplate::render_marked(const Settings& variables,
                                       const RenderOptions& options) const {
  return parsed_->run([&](Meter& meter) { return marked_variables(meter, variables, {}); },
                      options);
}

Setting ChatMessage::setting() const {
  Settings fields;
  fields.set("role", role).set("content", content);
  for (const auto& [name, value] : more.entries()) fields.set(name, value);
  return fields;
}

std::string render_chat(const ChatTemplate& chat_template, const std::vector<ChatMessage>& messages,
                        const ChatOptions& options, const RenderOptions& render_options) {
  return render_chat_marked(chat_template, messages, options, render_options).text;
}

MarkedText render_chat_marked(const ChatTemplate& chat_template,
                              const std::vector<ChatMessage>& messages, const ChatOptions& options,
                              const RenderOptions& render_options) {
  Setting::List list;
  std::vector<std::string> image_tokens;
  for (const ChatMessage& message : messages) {
    std::string& tokens = image_tokens.emplace_back();
    for (size_t i = 0; i < message.images.size(); i++) tokens += options.image_token;
    ChatMessage whole = message;
    whole.content = tokens + message.content;
    list.push_back(whole.setting());
  }
  Settings variables;
  variables.set("messages", std::move(list))
      .set("tools", options.tools.empty() ? Setting() : Setting(options.tools))
      .set("documents", nullptr)
      .set("add_generation_prompt", options.add_generation_prompt)
      .set("bos_token", options.bos_token)
      .set("eos_token", options.eos_token);
  for (const auto& [name, value] : options.more.entries()) variables.set(name, value);
  return chat_template.parsed_->run(
      [&](Meter& meter) { return marked_variables(meter, variables, image_tokens); },
      render_options);
}

}  // namespace wick
