#include "text/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "base/json_text.h"
#include "base/utf8.h"
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

/// The text as repr() writes it between these quotes.
std::string escaped_in_quotes(std::string_view text, char quote) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t code = next_code_point(text, at);
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
  return out;
}

void append_items(Meter& meter, MarkedString& to, const Items& items) {
  for (size_t i = 0; i < items.size(); i++) {
    if (i > 0) to += ", ";
    append_repr(meter, to, items[i]);
  }
}

void append_container(Meter& meter, MarkedString& to, const Value& value) {
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

/// Writes values as json.dumps does.
class Dumper {
 public:
  Dumper(Meter& meter, const JsonOptions& options)
      : meter_(meter), options_(options), json_(layout_of(options)) {}

  void write(const Value& value) {
    const Deeper deeper(meter_);
    meter_.step();
    meter_.check_room(json_.text().size());
    if (const Text* text = value.text()) {
      meter_.step_bytes(text->bytes.size());
      json_.string(text->bytes);
      mark(*text, json_.text().size());
    } else if (const Sequence* sequence = value.sequence()) {
      write_list(*sequence);
    } else if (const Dict* dict = value.dict()) {
      write_dict(value, *dict);
    } else if (const std::optional<std::string> scalar = scalar_text(value)) {
      json_.literal(*scalar);
    } else {
      meter_.fail("Object of type ", value.type_name(), " is not JSON serializable");
    }
  }

  MarkedString text() const { return {json_.text(), marks_}; }

 private:
  static JsonLayout layout_of(const JsonOptions& options) {
    return {.escapes = options.ensure_ascii ? JsonEscapes::kAscii : JsonEscapes::kPython,
            .entry_lines = options.lines,
            .item_lines = options.lines,
            .indent = options.indent,
            .entry_separator = options.item_separator,
            .item_separator = options.item_separator,
            .key_separator = options.key_separator};
  }

  /// nullopt for values that are no scalars.
  static std::optional<std::string> scalar_text(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* b = value.boolean()) return *b ? "true" : "false";
    if (const int64_t* i = value.integer()) return std::to_string(*i);
    const double* x = value.real();
    if (!x) return std::nullopt;
    if (std::isnan(*x)) return "NaN";
    return std::isinf(*x) ? *x < 0 ? "-Infinity" : "Infinity" : real_text(*x);
  }

  /// Meters the next line's indentation, whose width the template chooses.
  void meter_line() {
    if (!options_.lines) return;
    const size_t indentation = size_t(json_.level()) * options_.indent.size();
    meter_.step_bytes(indentation);
    meter_.check_room(json_.text().size() + indentation);
  }

  void write_list(const Sequence& sequence) {
    json_.begin_list();
    for (const Value& item : sequence.items) {
      meter_line();
      write(item);
    }
    if (!sequence.items.empty()) meter_line();
    json_.end_list();
  }

  void write_dict(const Value& value, const Dict& dict) {
    Items keys = collect(meter_, value);
    if (options_.sort_keys) keys = sorted(meter_, keys, keys, false);
    json_.begin_object();
    for (const Value& key : keys) {
      meter_line();
      write_key(key);
      write(*dict.find(meter_, key));
    }
    if (!keys.empty()) meter_line();
    json_.end_object();
  }

  void write_key(const Value& key) {
    if (const Text* text = key.text()) {
      meter_.step();
      meter_.check_room(json_.text().size());
      meter_.step_bytes(text->bytes.size());
      json_.key(text->bytes);
      return mark(*text, json_.text().size() - options_.key_separator.size());
    }
    const std::optional<std::string> scalar = scalar_text(key);
    if (!scalar) meter_.fail("keys must be str, int, float, bool or None, not ", key.type_name());
    json_.key(*scalar);
  }

  /// Takes over the marks of a text that was written in quotes, up to byte `end`.
  void mark(const Text& text, size_t end) {
    if (text.marks.empty()) return;
    MarkedString quoted;
    quoted += '"';
    quoted.append_runs(text, [&](std::string_view run) {
      const std::string whole = json_quote(run, layout_of(options_).escapes);
      return whole.substr(1, whole.size() - 2);
    });
    quoted += '"';
    const size_t begin = end - quoted.size();
    for (const ByteRange& range : quoted.marks().ranges())
      marks_.add(begin + size_t(range.begin), begin + size_t(range.end));
    meter_.check_room(json_.text().size() + marks_.memory());
  }

  Meter& meter_;
  const JsonOptions& options_;
  JsonWriter json_;
  Marks marks_;
};

}  // namespace

Value str(Meter& meter, const Value& value) {
  if (value.text() && !value.text()->markup) return value;
  MarkedString text;
  append_str(meter, text, value);
  return make_text(meter, std::move(text));
}

void append_str(Meter& meter, MarkedString& to, const Value& value) {
  if (const Text* text = value.text()) {
    meter.step_bytes(text->bytes.size());
    meter.check_room(to.memory() + text->bytes.size() + text->marks.memory());
    to += *text;
  } else if (!value.undefined())
    append_repr(meter, to, value);
}

void append_repr(Meter& meter, MarkedString& to, const Value& value) {
  const Deeper deeper(meter);
  meter.step();
  meter.check_room(to.memory());
  if (const Text* text = value.text()) {
    meter.step_bytes(text->bytes.size());
    if (text->markup) to += "Markup(";
    to += quoted_text(*text);
    if (text->markup) to += ')';
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

MarkedString quoted_text(const MarkedView& text) {
  const std::string_view bytes = text.bytes();
  const bool single = bytes.find('\'') == bytes.npos || bytes.find('"') != bytes.npos;
  const char quote = single ? '\'' : '"';
  MarkedString out;
  out += quote;
  out.append_runs(text, [&](std::string_view run) { return escaped_in_quotes(run, quote); });
  out += quote;
  return out;
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
    const char32_t code = next_code_point(text, at);
    if (code < 0x80)
      out += char(code);
    else
      append_code_escape(out, code);
  }
  return out;
}

MarkedString ascii_only(const MarkedView& text) {
  MarkedString out;
  out.append_runs(text, [](std::string_view run) { return ascii_only(run); });
  return out;
}

MarkedString to_json(Meter& meter, const Value& value, const JsonOptions& options) {
  Dumper dumper(meter, options);
  dumper.write(value);
  return options.from_users ? MarkedString::marked(dumper.text().bytes()) : dumper.text();
}

}  // namespace wick::jinja
