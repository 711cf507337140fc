// Messages and variables of chat templates, from Python's dicts.
#pragma once
#include <nanobind/nanobind.h>

#include <vector>

#include "wick/text/chat_template.h"

namespace wick::python {

/// A list of dicts with role and content, as chat templates and servers have them, images as
/// images_of takes them, and further fields such as tool_calls. Content may be a list of parts
/// {"type": "text", "text": ...}, which are joined by newlines, and None beside tool_calls. Errors:
/// TypeError, ValueError, naming the message.
std::vector<ChatMessage> messages_of(nanobind::handle list);

/// tools: None or a list of dicts; variables: None or a dict. Errors: TypeError, ValueError.
ChatOptions chat_options_of(nanobind::handle tools, nanobind::handle variables);

}  // namespace wick::python
