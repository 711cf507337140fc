// Messages of a chat and items of a response: roles, parts of contents, images, calls of tools.
#include <memory>

#include "base/base64.h"
#include "serve/requests.h"
#include "wick/io/json.h"
#include "wick/media/image.h"

namespace wick::serve {
namespace {

constexpr size_t kMaxMessages = 100'000;

/// Reads the messages of one request.
class MessageReader {
 public:
  explicit MessageReader(const RequestLimits& limits) : limits_(limits) {}

  ChatMessage read(const Fields& fields) {
    ChatMessage message;
    message.role = role_of(fields);
    const Setting* const content = fields.find("content");
    if (content)
      read_content(*content, fields.name("content"), message);
    else if (message.role != "assistant")
      fail_field(fields.name("content"), "a string or a list of parts", nullptr);
    for (const char* key : {"name", "tool_call_id", "reasoning_content"})
      if (const auto text = fields.text(key)) message.more.set(key, *text);
    if (const Setting::List* calls = fields.list("tool_calls"))
      message.more.set("tool_calls", read_calls(*calls, fields.name("tool_calls")));
    return message;
  }

  /// Adds an item of a response's input to the messages.
  void read_item(const Fields& item, std::vector<ChatMessage>& messages) {
    const std::string type = item.text("type").value_or("message");
    if (type == "function_call") {
      calls_.push_back(read_call_item(item));
      return;
    }
    if (type == "reasoning") {
      read_reasoning(item);
      return;
    }
    add_calls(messages);
    if (type == "message") {
      ChatMessage message = read(item);
      if (message.role == "assistant") add_reasoning(message);
      reasoning_.clear();  // of an answer without a message
      const bool continues = message.role == "system" && message.images.empty() &&
                             messages.size() == 1 && messages[0].role == "system";
      // Templates that know a system message know one, at the beginning.
      if (continues)
        messages[0].content += "\n\n" + message.content;
      else
        messages.push_back(std::move(message));
    } else if (type == "function_call_output") {
      ChatMessage& message = messages.emplace_back();
      message.role = "tool";
      message.more.set("tool_call_id", text_in(item, "call_id"));
      const Setting* const output = item.find("output");
      if (!output) fail_field(item.name("output"), "a string or a list of parts", nullptr);
      read_content(*output, item.name("output"), message);
    } else {
      fail_field(item.name("type"), "message, function_call, function_call_output or reasoning",
                 *item.find("type"));
    }
  }
  /// Adds the calls of the last items to the assistant's message before them.
  void add_calls(std::vector<ChatMessage>& messages) {
    if (calls_.empty()) return;
    if (messages.empty() || messages.back().role != "assistant")
      messages.push_back({.role = "assistant", .content = ""});
    add_reasoning(messages.back());
    Settings& more = messages.back().more;
    const Setting* const earlier = more.find("tool_calls");
    Setting::List calls = earlier ? std::get<Setting::List>(earlier->value) : Setting::List();
    calls.insert(calls.end(), calls_.begin(), calls_.end());
    more.set("tool_calls", std::move(calls));
    calls_.clear();
  }

 private:
  static std::string text_in(const Fields& fields, std::string_view key) {
    const std::optional<std::string> text = fields.text(key);
    if (!text) fail_field(fields.name(key), "a string", nullptr);
    return *text;
  }
  /// The reasoning of an item that comes before an answer's message or calls. Servers that hide it
  /// leave out the content, or have one of their own, which is passed over.
  void read_reasoning(const Fields& item) {
    const Setting* const content = item.find("content");
    const Setting::List* const parts =
        content ? std::get_if<Setting::List>(&content->value) : nullptr;
    if (!parts) return;
    for (const Setting& one : *parts) {
      const Settings* const part = std::get_if<Settings>(&one.value);
      const Setting* const given = part ? part->find("text") : nullptr;
      const std::string* const text = given ? std::get_if<std::string>(&given->value) : nullptr;
      if (text) reasoning_ += (reasoning_.empty() ? "" : "\n") + *text;
    }
  }
  /// Adds it to the message, as templates read it.
  void add_reasoning(ChatMessage& message) {
    if (reasoning_.empty()) return;
    const Setting* const earlier = message.more.find("reasoning_content");
    const std::string before = earlier ? std::get<std::string>(earlier->value) + "\n" : "";
    message.more.set("reasoning_content", before + reasoning_);
    reasoning_.clear();
  }
  /// As templates read a call.
  static Settings read_call_item(const Fields& item) {
    Settings call, function;
    call.set("id", text_in(item, "call_id")).set("type", "function");
    function.set("name", text_in(item, "name"));
    function.set("arguments", arguments_of(text_in(item, "arguments")));
    call.set("function", std::move(function));
    return call;
  }
  static std::string role_of(const Fields& fields) {
    const std::string role = fields.text("role").value_or("");
    if (role == "developer") return "system";  // OpenAI's newer name, which few templates know
    for (const char* known : {"system", "user", "assistant", "tool"})
      if (role == known) return role;
    const Setting* const given = fields.find("role");
    fail_field(fields.name("role"), "system, developer, user, assistant or tool",
               given ? *given : Setting());
  }

  void read_content(const Setting& content, const std::string& name, ChatMessage& message) {
    if (const std::string* text = std::get_if<std::string>(&content.value)) {
      message.content = *text;
      return;
    }
    const Setting::List* const parts = std::get_if<Setting::List>(&content.value);
    if (!parts) fail_field(name, "a string or a list of parts", content);
    bool has_text = false;
    for (size_t i = 0; i < parts->size(); i++) {
      const Fields part = object_in(*parts, i, name);
      const std::string type = part.text("type").value_or("");
      if (type == "text" || type == "input_text" || type == "output_text") {
        const std::optional<std::string> text = part.text("text");
        if (!text) fail_field(part.name("text"), "a string", nullptr);
        if (has_text) message.content += '\n';
        message.content += *text;
        has_text = true;
      } else if (type == "image_url" || type == "input_image") {
        message.images.push_back(read_image(part));
      } else {
        const Setting* const given = part.find("type");
        fail_field(part.name("type"), "text or image_url", given ? *given : Setting());
      }
    }
  }

  /// The image of a data: URL, which the part holds as a string or in an object.
  std::shared_ptr<const Image> read_image(const Fields& part) {
    const Setting* const given = part.find("image_url");
    std::string name = part.name("image_url");
    std::optional<std::string> url;
    if (given && std::holds_alternative<Settings>(given->value)) {
      const Fields image = *part.object("image_url");
      url = image.text("url");
      name = image.name("url");
    } else {
      url = part.text("image_url");
    }
    if (!url) fail_field(name, "a data: URL", nullptr);
    if (!limits_.reads_images) fail_unsupported(name, "the model reads no images");
    constexpr std::string_view kBase64 = ";base64,";
    const size_t mark = url->find(kBase64);
    if (!url->starts_with("data:") || mark == url->npos || mark > 100)
      fail_unsupported(name,
                       "expected data:image/png;base64,... (or jpeg, webp): this server fetches "
                       "nothing");
    const std::optional<std::string> bytes =
        from_base64(std::string_view(*url).substr(mark + kBase64.size()));
    if (!bytes) fail_unsupported(name, "the data is not base64 with padding");
    try {
      auto image =
          std::make_shared<Image>(decode_image(*bytes, name, {.max_pixels = pixels_left_}));
      // All images of a request together are no larger than one may be.
      pixels_left_ = std::max<int64_t>(1, pixels_left_ - image->width * image->height);
      return image;
    } catch (const Error& error) {
      throw RequestError(400, error.what(), name, "invalid_image");
    }
  }

  /// The calls as templates read them: OpenAI sends a function's arguments as JSON in a string.
  static Setting::List read_calls(const Setting::List& calls, const std::string& name) {
    Setting::List result;
    for (size_t i = 0; i < calls.size(); i++) {
      const Fields call = object_in(calls, i, name);
      const std::optional<Fields> function = call.object("function");
      if (!function) fail_field(call.name("function"), "an object", nullptr);
      Settings inner = function->settings(), outer = call.settings();
      if (!function->text("name")) fail_field(function->name("name"), "a string", nullptr);
      if (const Setting* arguments = function->find("arguments"))
        if (const std::string* text = std::get_if<std::string>(&arguments->value))
          inner.set("arguments", arguments_of(*text));
      outer.set("function", std::move(inner));
      result.push_back(std::move(outer));
    }
    return result;
  }

  /// The object that the text holds; the text itself if it is not JSON, as models sometimes write.
  static Setting arguments_of(const std::string& text) {
    try {
      return parse_body(text);
    } catch (const RequestError&) {
      return text;
    }
  }

  const RequestLimits& limits_;
  Setting::List calls_;    // of a response's input, that follow each other
  std::string reasoning_;  // of its items that no message has yet
  int64_t pixels_left_ = ImageReadOptions().max_pixels;
};

}  // namespace

std::vector<ChatMessage> read_messages(const Fields& body, const RequestLimits& limits) {
  const Setting::List* const list = body.list("messages");
  if (!list) fail_field(body.name("messages"), "a list of messages", nullptr);
  if (list->empty() || list->size() > kMaxMessages)
    fail_unsupported(body.name("messages"), "expected at least one message, at most " +
                                                std::to_string(kMaxMessages) + ", got " +
                                                std::to_string(list->size()));
  MessageReader reader(limits);
  std::vector<ChatMessage> messages;
  for (size_t i = 0; i < list->size(); i++)
    messages.push_back(reader.read(object_in(*list, i, body.name("messages"))));
  return messages;
}

std::vector<ChatMessage> read_input(const Fields& body, const RequestLimits& limits) {
  std::vector<ChatMessage> messages;
  if (const auto instructions = body.text("instructions"))
    messages.push_back({.role = "system", .content = *instructions});
  const Setting* const input = body.find("input");
  if (!input) fail_field(body.name("input"), "a string or a list of items", nullptr);
  if (const std::string* text = std::get_if<std::string>(&input->value)) {
    messages.push_back({.role = "user", .content = *text});
    return messages;
  }
  const Setting::List* const list = std::get_if<Setting::List>(&input->value);
  if (!list) fail_field(body.name("input"), "a string or a list of items", *input);
  if (list->size() > kMaxMessages)
    fail_unsupported(body.name("input"), "expected at most " + std::to_string(kMaxMessages) +
                                             " items, got " + std::to_string(list->size()));
  MessageReader reader(limits);
  for (size_t i = 0; i < list->size(); i++)
    reader.read_item(object_in(*list, i, body.name("input")), messages);
  reader.add_calls(messages);
  if (messages.empty()) fail_unsupported(body.name("input"), "expected at least one message");
  return messages;
}

}  // namespace wick::serve
