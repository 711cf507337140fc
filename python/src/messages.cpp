#include "messages.h"

#include "image_list.h"
#include "values.h"
#include "wick/base/error.h"

namespace wick::python {
namespace {

namespace nb = nanobind;

/// The value of a key; invalid if it is missing.
nb::object value_of(nb::handle dict, const char* key) {
  return nb::borrow(PyDict_GetItemString(dict.ptr(), key));
}

/// The text of one part of a content.
std::string part_text(nb::handle part, const std::string& where) {
  const std::string expected = R"({"type": "text", "text": ...})";
  if (!PyDict_Check(part.ptr())) fail_type(where, expected, part);
  const nb::object type = value_of(part, "type"), text = value_of(part, "text");
  check(type.is_valid() && text.is_valid() && nb::str("text").equal(type),
        ErrorCode::kInvalidArgument, where, "expected ", expected, ", got ", described(part));
  return text_of(text, where + "[\"text\"]");
}

std::string content_text(nb::handle content, const std::string& where) {
  if (PyUnicode_Check(content.ptr())) return text_of(content, where);
  const nb::object parts = list_of(content, where, "a str, or a list of text parts");
  std::string text;
  size_t count = 0;
  for (const nb::handle part : parts) {
    if (count > 0) text += '\n';
    text += part_text(part, where + "[" + std::to_string(count++) + "]");
  }
  return text;
}

ChatMessage message_of(nb::handle item, const std::string& where) {
  if (!PyDict_Check(item.ptr())) fail_type(where, R"(a dict of "role" and "content")", item);
  const nb::object role = value_of(item, "role"), content = value_of(item, "content");
  const bool calls = value_of(item, "tool_calls").is_valid();
  check(role.is_valid(), ErrorCode::kInvalidArgument, where, "expected a \"role\", got ",
        described(item));
  check(content.is_valid() || calls, ErrorCode::kInvalidArgument, where,
        "expected a \"content\", got ", described(item));
  ChatMessage message{.role = text_of(role, where + "[\"role\"]"), .content = {}};
  if (calls && (!content.is_valid() || content.is_none()))
    message.more.set("content", nullptr);  // templates ask whether it is None
  else
    message.content = content_text(content, where + "[\"content\"]");
  nb::dict more;
  for (const auto& [key, value] : nb::borrow<nb::dict>(item))
    if (nb::str("images").equal(key))
      for (Image& image : images_of(value))
        message.images.push_back(std::make_shared<const Image>(std::move(image)));
    else if (!nb::str("role").equal(key) && !nb::str("content").equal(key))
      more[key] = value;
  const Settings fields = settings_of(more, where);
  for (const auto& [key, value] : fields.entries()) message.more.set(key, value);
  return message;
}

}  // namespace

std::vector<ChatMessage> messages_of(nb::handle list) {
  std::vector<ChatMessage> messages;
  const nb::object items = list_of(list, "messages", R"(a list of dicts of "role" and "content")");
  for (const nb::handle item : items)
    messages.push_back(message_of(item, "messages[" + std::to_string(messages.size()) + "]"));
  return messages;
}

ChatOptions chat_options_of(nb::handle tools, nb::handle variables) {
  ChatOptions options;
  if (!tools.is_none()) {
    const nb::object items = list_of(tools, "tools", "a list of dicts, JSON schemas");
    for (const nb::handle item : items)
      options.tools.push_back(
          settings_of(item, "tools[" + std::to_string(options.tools.size()) + "]"));
  }
  if (!variables.is_none()) options.more = settings_of(variables, "template");
  return options;
}

}  // namespace wick::python
