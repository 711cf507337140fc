#include "text/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "text/jinja/compare.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

void append_hex(std::string& to, const char* format, char32_t code) {
  char escape[16];
  std::snprintf(escape, sizeof escape, format, unsigned(code));
  to += escape;
}

void append_code_escape(std::string& to, char32_t code) {
  append_hex(to, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
}

void append_items(Meter& meter, std::string& to, const Items& items) {
  for (size_t i = 0; i < items.size(); i++) {
    if (i > 0) to += ", ";
    append_repr(meter, to, items[i]);
  }
}

void append_container(Meter& meter, std::string& to, const Value& value) {
  const Printing printing(meter, value.identity());
  const bool is_inside = printing.is_inside();
  if (const Sequence* sequence = value.sequence()) {
    to += sequence->is_tuple() ? '(' : '[';
    if (is_inside)
      to += "...";
    else
      append_items(meter, to, sequence->items);
    to += !sequence->is_tuple() ? "]" : sequence->items.size() == 1 && !is_inside ? ",)" : ")";
    return;
  }
  to += '{';
  const char* comma = "";
  for (const auto& [key, item] : value.dict()->entries) {
    if (is_inside) break;
    to += comma;
    append_repr(meter, to, key);
    to += ": ";
    append_repr(meter, to, item);
    comma = ", ";
  }
  to += is_inside ? "...}" : "}";
}

void append_json_text(std::string& to, std::string_view text, bool ensure_ascii) {
  to += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t code = decode(text, at);
    switch (code) {
      case '"':
        to += "\\\"";
        break;
      case '\\':
        to += "\\\\";
        break;
      case '\n':
        to += "\\n";
        break;
      case '\r':
        to += "\\r";
        break;
      case '\t':
        to += "\\t";
        break;
      case '\b':
        to += "\\b";
        break;
      case '\f':
        to += "\\f";
        break;
      default:
        if (code < 0x20 || (ensure_ascii && code > 0x7f && code < 0x10000))
          append_hex(to, "\\u%04x", code);
        else if (ensure_ascii && code >= 0x10000) {
          append_hex(to, "\\u%04x", 0xd800 + ((code - 0x10000) >> 10));
          append_hex(to, "\\u%04x", 0xdc00 + ((code - 0x10000) & 0x3ff));
        } else
          to += text.substr(start, at - start);
    }
  }
  to += '"';
}

/// Writes values as json.dumps does.
class JsonWriter {
 public:
  JsonWriter(Meter& meter, const JsonOptions& options) : meter_(meter), options_(options) {}

  void write(const Value& value, int level) {
    const Deeper deeper(meter_);
    meter_.step();
    meter_.check_room(out.size());
    if (const Text* text = value.text()) {
      meter_.step_bytes(text->bytes.size());
      append_json_text(out, text->bytes, options_.ensure_ascii);
    } else if (const Sequence* sequence = value.sequence())
      write_list(*sequence, level);
    else if (const Dict* dict = value.dict())
      write_dict(value, *dict, level);
    else if (!write_scalar(value))
      meter_.fail("Object of type ", value.type_name(), " is not JSON serializable");
  }

  std::string out;

 private:
  bool write_scalar(const Value& value) {
    if (value.is_none())
      out += "null";
    else if (const bool* b = value.boolean())
      out += *b ? "true" : "false";
    else if (const int64_t* i = value.integer())
      out += std::to_string(*i);
    else if (const double* x = value.real())
      out += std::isnan(*x)   ? "NaN"
             : std::isinf(*x) ? *x < 0 ? "-Infinity" : "Infinity"
                              : real_text(*x);
    else
      return false;
    return true;
  }

  void line(int level) {
    if (!options_.lines) return;
    meter_.step_bytes(size_t(level) * options_.indent.size());
    meter_.check_room(out.size() + size_t(level) * options_.indent.size());
    out += '\n';
    for (int i = 0; i < level; i++) out += options_.indent;
  }

  void write_list(const Sequence& sequence, int level) {
    out += '[';
    for (size_t i = 0; i < sequence.items.size(); i++) {
      if (i > 0) out += options_.item_separator;
      line(level + 1);
      write(sequence.items[i], level + 1);
    }
    if (!sequence.items.empty()) line(level);
    out += ']';
  }

  void write_dict(const Value& value, const Dict& dict, int level) {
    Items keys = collect(meter_, value);
    if (options_.sort_keys) keys = sorted(meter_, keys, keys, false);
    out += '{';
    for (size_t i = 0; i < keys.size(); i++) {
      if (i > 0) out += options_.item_separator;
      line(level + 1);
      write_key(keys[i]);
      out += options_.key_separator;
      write(*dict.find(meter_, keys[i]), level + 1);
    }
    if (!keys.empty()) line(level);
    out += '}';
  }

  void write_key(const Value& key) {
    if (key.text()) return write(key, 0);
    out += '"';
    if (!write_scalar(key))
      meter_.fail("keys must be str, int, float, bool or None, not ", key.type_name());
    out += '"';
  }

  Meter& meter_;
  const JsonOptions& options_;
};

}  // namespace

Value str(Meter& meter, const Value& value) {
  if (value.text() && !value.text()->markup) return value;
  std::string text;
  append_str(meter, text, value);
  return make_text(meter, std::move(text));
}

void append_str(Meter& meter, std::string& to, const Value& value) {
  if (const Text* text = value.text()) {
    meter.step_bytes(text->bytes.size());
    meter.check_room(to.size() + text->bytes.size());
    to += text->bytes;
  } else if (!value.undefined())
    append_repr(meter, to, value);
}

void append_repr(Meter& meter, std::string& to, const Value& value) {
  const Deeper deeper(meter);
  meter.step();
  meter.check_room(to.size());
  if (const Text* text = value.text()) {
    meter.step_bytes(text->bytes.size());
    to += text->markup ? "Markup(" + quoted_text(text->bytes) + ")" : quoted_text(text->bytes);
  } else if (value.is_none())
    to += "None";
  else if (const bool* b = value.boolean())
    to += *b ? "True" : "False";
  else if (const int64_t* i = value.integer())
    to += std::to_string(*i);
  else if (const double* x = value.real())
    to += real_text(*x);
  else if (value.sequence() || value.dict())
    append_container(meter, to, value);
  else if (const Object* object = value.object())
    object->append_repr(meter, to);
  else
    to += "Undefined";
}

Printing::Printing(Meter& meter, const void* container)
    : meter_(meter),
      is_inside_(std::find(meter.printed.begin(), meter.printed.end(), container) !=
                 meter.printed.end()) {
  meter.printed.push_back(container);
}

std::string quoted_text(std::string_view text) {
  const bool single = text.find('\'') == text.npos || text.find('"') != text.npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t code = decode(text, at);
    if (code == char32_t(quote) || code == '\\')
      (out += '\\') += char(code);
    else if (code == '\n')
      out += "\\n";
    else if (code == '\r')
      out += "\\r";
    else if (code == '\t')
      out += "\\t";
    else if (is_printable(code))
      out += text.substr(start, at - start);
    else
      append_code_escape(out, code);
  }
  return out += quote;
}

std::string real_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char digits[32];
  const auto scientific =
      std::to_chars(digits, digits + sizeof digits, x, std::chars_format::scientific);
  const std::string text(digits, scientific.ptr);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return text;
  char fixed[64];
  std::string out(fixed,
                  std::to_chars(fixed, fixed + sizeof fixed, x, std::chars_format::fixed).ptr);
  return out.find('.') == out.npos ? out + ".0" : out;
}

std::string ascii_only(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = decode(text, at);
    if (code < 0x80)
      out += char(code);
    else
      append_code_escape(out, code);
  }
  return out;
}

std::string to_json(Meter& meter, const Value& value, const JsonOptions& options) {
  JsonWriter writer(meter, options);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace wick::jinja
