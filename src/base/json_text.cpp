#include "base/json_text.h"

#include <cstdio>
#include <utility>

#include "base/utf8.h"

namespace wick {
namespace {

/// The letter of a short escape; 0 if there is none.
char short_escape(char32_t code, JsonEscapes escapes) {
  switch (code) {
    case '"':
    case '\\':
      return char(code);
    case '\n':
      return 'n';
    case '\t':
      return 't';
  }
  if (escapes == JsonEscapes::kControls) return 0;
  return code == '\r' ? 'r' : code == '\b' ? 'b' : code == '\f' ? 'f' : 0;
}

bool is_escaped(char32_t code, JsonEscapes escapes) {
  if (code < 0x20) return true;
  if (escapes == JsonEscapes::kAscii) return code > 0x7e;
  return escapes == JsonEscapes::kControls && code >= 0x7f && code <= 0x9f;
}

void append_unit(std::string& to, char32_t unit) {
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(unit) & 0xffff);
  to += escape;
}

}  // namespace

std::string json_quote(std::string_view text, JsonEscapes escapes) {
  std::string valid;
  if (!is_utf8(text)) text = valid = with_valid_utf8(text);
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t code = next_code_point(text, at);
    if (const char letter = short_escape(code, escapes)) {
      (out += '\\') += letter;
    } else if (!is_escaped(code, escapes)) {
      out += text.substr(start, at - start);
    } else if (code < 0x10000) {
      append_unit(out, code);
    } else {  // a pair of surrogates
      append_unit(out, 0xd800 + ((code - 0x10000) >> 10));
      append_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  return out += '"';
}

void JsonWriter::begin_list() { begin('[', false); }
void JsonWriter::end_list() { end(']'); }
void JsonWriter::begin_object() { begin('{', true); }
void JsonWriter::end_object() { end('}'); }

void JsonWriter::key(std::string_view text) {
  separate();
  text_ += json_quote(text, layout_.escapes);
  text_ += layout_.key_separator;
  after_key_ = true;
}

void JsonWriter::string(std::string_view text) { literal(json_quote(text, layout_.escapes)); }

void JsonWriter::literal(std::string_view text) {
  separate();
  text_ += text;
}

void JsonWriter::begin(char bracket, bool is_object) {
  separate();
  text_ += bracket;
  open_.push_back({is_object});
  level_ += has_lines(open_.back());
}

void JsonWriter::end(char bracket) {
  const Open closed = open_.back();
  open_.pop_back();
  level_ -= has_lines(closed);
  if (has_lines(closed) && !closed.is_empty) line();
  text_ += bracket;
}

/// Writes the separator and the line break before an item or a key.
void JsonWriter::separate() {
  const bool is_value = std::exchange(after_key_, false);
  if (is_value || open_.empty()) return;
  Open& open = open_.back();
  if (!open.is_empty) text_ += open.is_object ? layout_.entry_separator : layout_.item_separator;
  open.is_empty = false;
  if (has_lines(open)) line();
}

void JsonWriter::line() {
  text_ += '\n';
  for (int i = 0; i < level_; i++) text_ += layout_.indent;
}

}  // namespace wick
