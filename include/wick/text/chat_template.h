// Chat templates: the Jinja that models are published with.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/export.h"
#include "wick/base/settings.h"
#include "wick/text/marked_text.h"

namespace wick {

/// Bounds of one render, and the date that it may ask for.
struct RenderOptions {
  /// Steps: an expression or statement each, and 64 bytes that are read or written.
  int64_t max_steps = 20'000'000;
  /// Live bytes of values and of the output.
  int64_t max_bytes = 128 << 20;
  /// The time that strftime_now formats, in the local time zone; by default the system's clock.
  std::function<std::chrono::system_clock::time_point()> now;
};

struct ChatMessage;
struct ChatOptions;

/// A template that renders a conversation as the text that a model was trained on. Renders as
/// Python's jinja2 3.1 set up as HuggingFace transformers does: an immutable sandbox, trim_blocks,
/// lstrip_blocks, loop controls, {% generation %}, tojson without HTML escapes, raise_exception and
/// strftime_now. Integers have 64 bits; blocks, inclusion, imports and the filters filesizeformat,
/// pprint, random, striptags, urlize, wordwrap and xmlattr are unknown.
///
/// Cheap to copy. Threads may render at once.
class WICK_API ChatTemplate {
 public:
  /// Parses the source. where: prefix of error texts, such as the file.
  /// Errors, with line and column: kFormat; kUnsupported for an unknown construct and for nesting
  /// beyond 150 levels.
  ChatTemplate(std::string_view source, const std::string& where);

  const std::string& source() const;

  /// The text, with these variables: messages, tools, add_generation_prompt, bos_token, eos_token
  /// and others that the template reads. Bytes in them that are not UTF-8 become U+FFFD.
  /// Errors, with line and column: kInvalidArgument where jinja2 raises one, raise_exception's text
  /// among them; kUnsupported for a construct that wick does not have, an integer beyond 64 bits,
  /// and more steps, bytes or recursion than allowed.
  std::string render(const Settings& variables, const RenderOptions& options = {}) const;

  /// render, with the parts of the text that come from users: from the strings in the variables
  /// messages, tools and documents, keys included. A part keeps its mark through all operations
  /// that copy characters or write others in their place: concatenation, slices, methods such as
  /// strip and upper, filters such as replace and tojson. Text of the template that joins such
  /// parts, or replaces some, has no mark, nor have the other variables, which the program sets.
  ///
  /// The role of a message has no mark if it consists of ASCII letters, digits, "_" and "-":
  /// templates write tokens with it, such as <|user|>. Whoever chooses it chooses who speaks.
  MarkedText render_marked(const Settings& variables, const RenderOptions& options = {}) const;

 private:
  friend MarkedText render_chat_marked(const ChatTemplate&, const std::vector<ChatMessage>&,
                                       const ChatOptions&, const RenderOptions&);
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

struct Image;  // wick/media/image.h

/// A message of a conversation.
struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  Settings more = {};  // further fields, such as tool_calls
  /// Stand before the content, for a model that reads images: see ChatOptions::image_token.
  std::vector<std::shared_ptr<const Image>> images = {};

  /// As templates read it: a dict of role, content and the further fields.
  WICK_API Setting setting() const;
};

struct ChatOptions {
  /// Whether the text ends where the assistant's answer starts.
  bool add_generation_prompt = true;
  std::string bos_token = {}, eos_token = {};
  /// Tools as JSON schemas; if empty, templates see no tools.
  Setting::List tools = {};
  /// Further variables, such as enable_thinking.
  Settings more = {};
  /// The text of a token, which stands once for each image of a message before its content.
  std::string image_token = {};
};

/// Renders a conversation. Errors: as ChatTemplate::render.
WICK_API std::string render_chat(const ChatTemplate& chat_template,
                                 const std::vector<ChatMessage>& messages,
                                 const ChatOptions& options = {},
                                 const RenderOptions& render_options = {});
/// render_chat, with the parts of the text that come from users, as ChatTemplate::render_marked has
/// them. The text of image_token has no mark.
WICK_API MarkedText render_chat_marked(const ChatTemplate& chat_template,
                                       const std::vector<ChatMessage>& messages,
                                       const ChatOptions& options = {},
                                       const RenderOptions& render_options = {});

}  // namespace wick
