#include "text/jinja/format.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "text/jinja/attributes.h"
#include "text/jinja/convert.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

/// A whole number at text[at]; -1 if no digit stands there. Errors: it is too large.
int64_t read_count(const Meter& meter, std::string_view text, size_t& at) {
  int64_t value = -1;
  for (; at < text.size() && '0' <= text[at] && text[at] <= '9'; at++) {
    value = std::max<int64_t>(value, 0) * 10 + (text[at] - '0');
    if (value > INT32_MAX) meter.fail("too many decimal digits in a format");
  }
  return value;
}

/// The conversions of `text % values`.
class PercentFormatter {
 public:
  PercentFormatter(Meter& meter, const Value& text, const Value& values)
      : meter_(meter),
        view_(*text.text()),
        text_(text.text()->bytes),
        markup_(text.text()->markup),
        values_(values) {}

  Value run() {
    for (size_t at = 0; at < text_.size();) {
      const size_t percent = std::min(text_.find('%', at), text_.size());
      out_ += view_.substr(at, percent - at);
      at = percent == text_.size() ? percent : convert(percent + 1);
    }
    // An object with items may have more than the text asks for.
    const bool has_items = values_.is_list() || values_.dict() || values_.undefined() ||
                           (values_.object() && values_.object()->has_items());
    if (next_ < count() && !has_items)
      meter_.fail("not all arguments converted during string formatting");
    return make_text(meter_, std::move(out_), markup_);
  }

 private:
  size_t count() const { return values_.is_tuple() ? values_.sequence()->items.size() : 1; }

  Value next_value() {
    if (next_ >= count()) meter_.fail("not enough arguments for format string");
    const size_t i = next_++;
    return values_.is_tuple() ? values_.sequence()->items[i] : values_;
  }

  char at_or_fail(size_t at) const {
    if (at >= text_.size()) meter_.fail("incomplete format");
    return text_[at];
  }

  /// Writes the conversion whose "%" is before `at`; returns the byte after it.
  size_t convert(size_t at) {
    if (at_or_fail(at) == '%') {
      out_ += view_.substr(at, 1);
      return at + 1;
    }
    FormatSpec spec;
    Value keyed;
    if (at_or_fail(at) == '(') keyed = read_key(at);
    bool left = false, zero = false;
    for (;; at++) {
      const char flag = at_or_fail(at);
      if (flag == '-')
        left = true;
      else if (flag == '0')
        zero = true;
      else if (flag == '+')
        spec.sign = '+';
      else if (flag == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (flag == '#')
        spec.is_alternate = true;
      else
        break;
    }
    spec.width = std::max<int64_t>(read_size(at, &left), 0);
    if (at_or_fail(at) == '.') spec.precision = std::max<int64_t>(read_size(++at, nullptr), 0);
    while (at_or_fail(at) == 'l' || text_[at] == 'h' || text_[at] == 'L') at++;
    spec.type = text_[at++];
    const Value value = keyed.is_missing() ? next_value() : keyed;
    spec.align = left ? '<' : '>';
    const MarkedString written = converted(value, spec, zero && !left);
    meter_.check_room(out_.memory() + written.memory());
    meter_.step_bytes(written.size());
    out_ += written;
    return at;
  }

  Value read_key(size_t& at) {
    size_t end = at + 1;
    for (int open = 1; open > 0; end++) {
      const char c = at_or_fail(end);
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    if (!values_.dict()) meter_.fail("format requires a mapping");
    const Value* found = values_.dict()->find(meter_, text_.substr(at + 1, end - at - 2));
    if (!found) meter_.fail("no value for the key of the format");
    next_ = count();
    at = end;
    return *found;
  }

  /// A width or precision: digits, or "*" for the next value.
  int64_t read_size(size_t& at, bool* left) {
    if (at_or_fail(at) != '*') return read_count(meter_, text_, at);
    at++;
    int64_t size = expect_index(meter_, next_value(), "*");
    if (size != int32_t(size)) meter_.fail("a width or precision exceeds 32 bits");
    if (size < 0 && left) {
      *left = true;
      size = -size;
    }
    return size;
  }

  MarkedString converted(const Value& value, FormatSpec spec, bool zero) {
    const auto fill_zeros = [&] {
      if (!zero) return;
      spec.align = '=';
      spec.fill = "0";
    };
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': {
        MarkedString text;
        if (spec.type == 's')
          append_str(meter_, text, markup_ ? escape(meter_, value) : value);
        else
          append_repr(meter_, text, value);
        if (spec.type == 'a') text = ascii_only(text);
        return format_text(meter_, text, spec);
      }
      case 'c':
        spec.precision = -1;
        return format_text(meter_, character(value), spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        const bool is_decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
        if (is_decimal) spec.type = 'd';
        fill_zeros();
        return MarkedString::unmarked(integer(value, spec, is_decimal));
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        if (value.undefined()) fail_undefined(meter_, value);
        const auto x = real_of(value);
        if (!x) meter_.fail("must be real number, not ", value.type_name());
        fill_zeros();
        return MarkedString::unmarked(format_number(meter_, *x, spec));
      }
      default:
        meter_.fail("unsupported format character '", std::string(1, spec.type), "'");
    }
  }

  std::string integer(const Value& value, FormatSpec spec, bool is_decimal) {
    if (value.undefined()) fail_undefined(meter_, value);
    auto number = value.index();
    if (!number && is_decimal && value.real()) number = truncate(meter_, *value.real());
    if (!number)
      meter_.fail("%", std::string(1, spec.type), " format: a number is required, not ",
                  value.type_name());
    const int64_t digits = spec.precision;
    spec.precision = -1;
    if (digits < 0) return format_number(meter_, *number, spec);
    // A precision is the least number of digits.
    FormatSpec bare = spec;
    bare.width = 0;
    const std::string all = format_number(meter_, *number, bare);
    const size_t sign = all.find_first_not_of("+- ");
    const size_t prefix =
        sign + (all.size() > sign + 1 && spec.is_alternate && !is_decimal ? 2 : 0);
    const auto with_zeros = [&](const std::string& text, int64_t width) {
      return padded(meter_, MarkedView::unmarked(text), width, Align::kRight, "0").bytes();
    };
    const std::string padded_digits =
        all.substr(0, prefix) + with_zeros(all.substr(prefix), digits);
    if (spec.align != '=')
      return format_text(meter_, MarkedView::unmarked(padded_digits), spec).bytes();
    return padded_digits.substr(0, prefix) +
           with_zeros(padded_digits.substr(prefix), spec.width - int64_t(prefix));
  }

  MarkedString character(const Value& value) {
    if (value.text() && value.text()->length == 1) return MarkedString(*value.text());
    const auto code = value.index();
    if (!code) meter_.fail("%c requires an int or a single character");
    if (*code < 0 || *code > 0x10ffff) meter_.fail("%c arg not in range(0x110000)");
    if (0xd800 <= *code && *code < 0xe000) meter_.refuse("a surrogate in a string");
    std::string text;
    append_code_point(text, char32_t(*code));
    return MarkedString::marked(text);  // numbers have no marks, and any text can be spelled so
  }

  Meter& meter_;
  const MarkedView view_;
  const std::string_view text_;
  const bool markup_;
  const Value& values_;
  MarkedString out_;
  size_t next_ = 0;
};

/// The fields of text.format().
class FieldFormatter {
 public:
  FieldFormatter(Interpreter& in, const Value& text, const Arguments& arguments)
      : in_(in), meter_(in.meter), markup_(text.text()->markup), arguments_(arguments) {}

  /// levels: how deeply fields may nest in specifications.
  MarkedString run(const MarkedView& view, int levels) {
    const std::string_view text = view.bytes();
    MarkedString out;
    for (size_t at = 0; at < text.size();) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out += view.substr(at, brace - at);
      if (brace == text.size()) break;
      const char c = text[brace];
      at = brace + 1;
      if (at < text.size() && text[at] == c)
        out += view.substr(at++, 1);
      else if (c == '}')
        meter_.fail("single '}' encountered in format string");
      else {
        const MarkedString written = field(view, at, levels);
        meter_.check_room(out.memory() + written.memory());
        meter_.step_bytes(written.size());
        out += written;
      }
    }
    return out;
  }

 private:
  /// Writes the field whose "{" is before `at`, which moves to the byte after it.
  MarkedString field(const MarkedView& view, size_t& at, int levels) {
    const std::string_view text = view.bytes();
    if (levels == 0) meter_.fail("max string recursion exceeded");
    meter_.step();
    const size_t start = at;
    int open = 1;
    size_t colon = text.npos, mark = text.npos;
    for (; at < text.size() && open > 0; at++) {
      const char c = text[at];
      open += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (colon == text.npos && open == 1 && c == '[')
        at = std::min(text.find(']', at), text.size() - 1);
      else if (c == ':' && colon == text.npos && open == 1)
        colon = at;
      else if (c == '!' && colon == text.npos && mark == text.npos)
        mark = at;
    }
    if (open > 0) meter_.fail("expected '}' before end of string");
    const size_t end = at - 1;
    const size_t name_end = std::min({mark, colon, end});
    Value value = lookup(text.substr(start, name_end - start));
    if (mark != text.npos) {
      const size_t conversion_end = std::min(colon, end);
      if (conversion_end != mark + 2) meter_.fail("unmatched '{' in format spec");
      value = conversion(value, text[mark + 1]);
    }
    const MarkedString spec = colon == text.npos
                                  ? MarkedString()
                                  : run(view.substr(colon + 1, end - colon - 1), levels - 1);
    // A specification may have any character to fill with.
    MarkedString written = marked_like(format_value(value, spec.bytes()), spec);
    if (!markup_) return written;
    const Value escaped =
        escape(meter_, make_text(meter_, std::move(written), value.text() && value.text()->markup));
    return MarkedString(*escaped.text());
  }

  Value conversion(const Value& value, char kind) {
    if (kind == 's') return str(meter_, value);
    MarkedString text;
    append_repr(meter_, text, value);
    if (kind == 'a') return make_text(meter_, ascii_only(text));
    if (kind != 'r') meter_.fail("unknown conversion specifier ", std::string(1, kind));
    return make_text(meter_, std::move(text));
  }

  Value lookup(std::string_view name) {
    size_t at = std::min(name.find_first_of(".["), name.size());
    Value value = first(name.substr(0, at), at == name.size());
    while (at < name.size()) {
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) meter_.fail("empty attribute in format string");
        value = get_attribute(in_, value, name.substr(at + 1, end - at - 1));
        at = end;
      } else if (name[at] == '[') {
        const size_t end = name.find(']', at);
        if (end == name.npos) meter_.fail("missing ']' in format string");
        const std::string_view key = name.substr(at + 1, end - at - 1);
        if (key.empty()) meter_.fail("empty attribute in format string");
        size_t digits = 0;
        const int64_t index = read_count(meter_, key, digits);
        value =
            get_item(in_, value,
                     digits == key.size() ? Value(index) : make_unmarked(meter_, std::string(key)));
        at = end + 1;
      } else
        meter_.fail("only '.' or '[' may follow ']' in format field specifier");
    }
    return value;
  }

  /// The argument that a field starts with. is_whole: nothing follows its name.
  Value first(std::string_view name, bool is_whole) {
    size_t digits = 0;
    int64_t index = read_count(meter_, name, digits);
    const bool is_automatic = name.empty() && is_whole;
    if (digits < name.size() || (name.empty() && !is_whole)) {
      for (const auto& [key, value] : arguments_.named)
        if (key == name) return value;
      meter_.fail("format: no argument named '", name, "'");
    }
    // Only fields that are numbers and nothing else count as numbered by hand.
    if (is_whole && (is_automatic ? uses_manual_ : next_ > 0))
      meter_.fail("cannot mix automatic field numbering with manual field specification");
    if (is_automatic)
      index = next_++;
    else if (is_whole)
      uses_manual_ = true;
    if (index >= int64_t(arguments_.positional.size()))
      meter_.fail("replacement index ", index, " out of range for positional args tuple");
    return arguments_.positional[size_t(index)];
  }

  MarkedString format_value(const Value& value, const std::string& text) {
    if (text.empty() || !(value.text() || value.is_number())) {
      if (!text.empty())
        meter_.fail("unsupported format string passed to ", value.type_name(), ".__format__");
      MarkedString out;
      append_str(meter_, out, value);
      return out;
    }
    const FormatSpec spec = parse_spec(text, value.is_number());
    if (!value.text()) {
      if (spec.type == 'c') meter_.refuse("format code 'c'");
      return MarkedString::unmarked(format_number(meter_, value, spec));
    }
    const bool is_valid = (spec.type == 0 || spec.type == 's') && spec.sign == '-' &&
                          !spec.is_alternate && spec.align != '=' && !spec.grouping;
    if (!is_valid) meter_.fail("invalid format specifier '", text, "' for a string");
    return format_text(meter_, *value.text(), spec);
  }

  FormatSpec parse_spec(std::string_view text, bool is_number) {
    FormatSpec spec;
    size_t at = 0;
    const auto current = [&] { return at < text.size() ? text[at] : '\0'; };
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const size_t first = text.empty() ? 0 : character_length(text[0]);
    if (first < text.size() && is_align(text[first])) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(current()))
      spec.align = text[at++];
    bool has_sign = false;
    if (current() == '+' || current() == '-' || current() == ' ') {
      spec.sign = text[at++];
      has_sign = true;
    }
    if (current() == '#') spec.is_alternate = text[at++] == '#';
    if (current() == '0') {
      at++;
      if (spec.align == 0) {
        spec.fill = "0";
        spec.align = is_number ? '=' : '<';
      } else if (first >= text.size() || !is_align(text[first]))
        spec.fill = "0";
    }
    spec.width = std::max<int64_t>(read_count(meter_, text, at), 0);
    if (current() == ',' || current() == '_') spec.grouping = text[at++];
    if (current() == '.') {
      at++;
      spec.precision = read_count(meter_, text, at);
      if (spec.precision < 0) meter_.fail("format specifier missing precision");
    }
    if (at < text.size()) spec.type = text[at++];
    if (at < text.size() || (has_sign && !is_number))
      meter_.fail("invalid format specifier '", text, "'");
    return spec;
  }

  Interpreter& in_;
  Meter& meter_;
  const bool markup_;
  const Arguments& arguments_;
  int64_t next_ = 0;
  bool uses_manual_ = false;
};

}  // namespace

Value percent_format(Meter& meter, const Value& text, const Value& values) {
  meter.step_bytes(text.text()->bytes.size());
  return PercentFormatter(meter, text, values).run();
}

Value format_fields(Interpreter& interpreter, const Value& text, const Arguments& arguments) {
  interpreter.meter.step_bytes(text.text()->bytes.size());
  MarkedString out = FieldFormatter(interpreter, text, arguments).run(*text.text(), 2);
  return make_text(interpreter.meter, std::move(out), text.text()->markup);
}

}  // namespace wick::jinja
