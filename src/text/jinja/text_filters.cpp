// Filters of strings.
#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/attributes.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

/// The value itself if it is a string, else its str().
Value soft_str(Interpreter& in, const Value& value) {
  return value.text() ? value : str(in.meter, value);
}

bool flag(const Value& argument) { return !argument.is_missing() && argument.is_true(); }

template <CaseChange change>
Value change_case(Interpreter& in, const Value& input, const Items&) {
  const Value text = soft_str(in, input);
  return make_text(in.meter, with_case(in.meter, *text.text(), change), text.text()->markup);
}

/// Words begin after white space and the characters - ( { [ <.
Value title(Interpreter& in, const Value& input, const Items&) {
  const Value text = soft_str(in, input);
  const std::string& bytes = text.text()->bytes;
  in.meter.step_bytes(bytes.size());
  const auto is_between = [](char32_t code) {
    return is_space(code) ||
           (code < 0x80 && std::string_view("-({[<").find(char(code)) != std::string::npos);
  };
  const MarkedView view = *text.text();
  MarkedString out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t start = at;
    if (is_between(next_code_point(bytes, at))) {
      out += view.substr(start, at - start);
      continue;
    }
    out += with_case(in.meter, view.substr(start, at - start), to_upper);
    const size_t second = at;
    for (size_t next = at; next < bytes.size(); at = next)
      if (is_between(next_code_point(bytes, next))) break;
    out += with_case(in.meter, view.substr(second, at - second), to_lower);
  }
  return make_text(in.meter, std::move(out));
}

Value trim(Interpreter& in, const Value& input, const Items& arguments) {
  const Value text = soft_str(in, input);
  const std::string& bytes = text.text()->bytes;
  in.meter.step_bytes(bytes.size());
  std::string_view part = strip_spaces(bytes);
  if (!arguments[0].is_missing() && !arguments[0].is_none())
    part =
        strip_chars(in.meter, bytes, expect_text(in.meter, arguments[0], "trim").bytes, true, true);
  return make_text(in.meter, MarkedView(*text.text()).part(part), text.text()->markup);
}

Value replace(Interpreter& in, const Value& input, const Items& arguments) {
  const Value text = str(in.meter, input), part = str(in.meter, arguments[0]),
              with = str(in.meter, arguments[1]);
  const int64_t count = arguments[2].is_none() ? -1 : index_or(in.meter, arguments[2], "count", -1);
  return make_text(in.meter,
                   replaced(in.meter, *text.text(), part.text()->bytes, *with.text(), count));
}

Value join(Interpreter& in, const Value& input, const Items& arguments) {
  const Value separator =
      arguments[0].is_missing() ? constant_text("") : str(in.meter, arguments[0]);
  const AttributeReader read(in, arguments[1]);
  MarkedString out;
  bool first = true;
  const auto iterator = iterate(in.meter, input);
  for (Value item; iterator->next(item);) {
    if (!std::exchange(first, false)) append_str(in.meter, out, separator);
    append_str(in.meter, out, read(item));
  }
  return make_text(in.meter, std::move(out));
}

Value format(Interpreter& in, const Value& input, Arguments&& arguments) {
  Meter& meter = in.meter;
  if (!arguments.positional.empty() && !arguments.named.empty())
    meter.fail("format: positional and keyword arguments at the same time");
  Entries entries;
  for (auto& [name, value] : arguments.named)
    entries.emplace_back(make_text(meter, std::move(name)), std::move(value));
  const Value values = entries.empty() ? make_tuple(meter, std::move(arguments.positional))
                                       : make_dict(meter, std::move(entries));
  return percent_format(meter, soft_str(in, input), values);
}

Value indent(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  if (input.undefined()) fail_undefined(meter, input);
  const Text& text = expect_text(meter, input, "indent");
  Value indention = given_or(arguments[0], 4);
  if (!indention.text())
    indention =
        make_text(meter, padded(meter, "", expect_index(meter, indention, "width"), Align::kLeft));
  if (text.markup) indention = escape(meter, indention);
  const MarkedView spaces = *indention.text(), view = text;
  meter.step_bytes(text.bytes.size());
  const std::string whole = text.bytes + "\n";
  const std::vector<std::string_view> lines = split_lines(whole, false);
  MarkedString out;
  if (flag(arguments[1])) out += spaces;
  size_t end = 0;  // of the line before
  for (size_t i = 0; i < lines.size(); i++) {
    const size_t begin = size_t(lines[i].data() - whole.data());
    if (i > 0) {
      out += marked_like(MarkedString::unmarked("\n"), view.substr(end, begin - end));
      if (flag(arguments[2]) || !lines[i].empty()) {
        meter.step_bytes(spaces.size());
        meter.check_room(out.memory() + spaces.size());
        out += spaces;
      }
    }
    out += view.substr(begin, lines[i].size());
    end = begin + lines[i].size();
  }
  return make_text(meter, std::move(out), text.markup);
}

Value center(Interpreter& in, const Value& input, const Items& arguments) {
  const Value text = soft_str(in, input);
  const int64_t width = index_or(in.meter, arguments[0], "width", 80);
  return make_text(in.meter, padded(in.meter, *text.text(), width, Align::kCenter),
                   text.text()->markup);
}

Value truncate(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const int64_t length = index_or(meter, arguments[0], "length", 255);
  const Value end = given_or(arguments[2], constant_text("..."));
  const int64_t end_length = expect_text(meter, end, "end").length;
  const int64_t leeway = arguments[3].is_none() ? 5 : index_or(meter, arguments[3], "leeway", 5);
  if (length < end_length || leeway < 0)
    meter.fail("truncate: expected a length of at least ", end_length,
               " and a leeway of at least 0");
  const auto size = length_of(input);
  if (size && (*size <= leeway || *size - leeway <= length)) return input;
  const Text& text = expect_text(meter, input, "truncate");
  meter.step_bytes(text.bytes.size());
  MarkedView kept = MarkedView(text).substr(0, offset_of(text, length - end_length));
  if (!flag(arguments[1])) kept = kept.substr(0, kept.bytes().rfind(' '));
  MarkedString out(kept);
  out += *end.text();
  return make_text(meter, std::move(out), text.markup);
}

Value count_words(Interpreter& in, const Value& input, const Items&) {
  const Value text = soft_str(in, input);
  const std::string& bytes = text.text()->bytes;
  in.meter.step_bytes(bytes.size());
  int64_t count = 0;
  bool in_word = false;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t code = next_code_point(bytes, at);
    const bool is_word = code == '_' || is_alpha(code) || is_numeric(code);
    count += is_word && !in_word;
    in_word = is_word;
  }
  return count;
}

/// Percent-encodes the bytes that no URL has as they are.
std::string quoted_url(std::string_view text, bool in_query) {
  constexpr std::string_view kKept =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kKept.find(c) != kKept.npos || (c == '/' && !in_query))
      out += c;
    else if (c == ' ' && in_query)
      out += '+';
    else
      (out += '%').append({kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]});
  }
  return out;
}

/// Appends str(value), percent-encoded.
void append_url(Interpreter& in, MarkedString& to, const Value& value, bool in_query) {
  const Value text = str(in.meter, value);
  to.append_runs(*text.text(), [&](std::string_view run) { return quoted_url(run, in_query); });
}

Value urlencode(Interpreter& in, const Value& input, const Items&) {
  Meter& meter = in.meter;
  const auto iterator = input.text() ? nullptr : try_iterate(meter, input);
  MarkedString out;
  if (!iterator) {
    append_url(in, out, input, false);
    return make_text(meter, std::move(out));
  }
  Entries entries;
  if (input.dict())
    entries = input.dict()->entries;
  else
    for (Value pair; iterator->next(pair);) {
      const Items items = collect(meter, pair);
      if (items.size() != 2) meter.fail("urlencode: expected pairs");
      entries.emplace_back(items[0], items[1]);
    }
  for (const auto& [key, value] : entries) {
    if (!out.empty()) out += '&';
    append_url(in, out, key, true);
    out += '=';
    append_url(in, out, value, true);
    meter.check_room(out.memory());
  }
  return make_text(meter, std::move(out));
}

Value string(Interpreter& in, const Value& input, const Items&) { return soft_str(in, input); }
Value safe(Interpreter& in, const Value& input, const Items&) {
  const Value text = str(in.meter, input);
  return make_text(in.meter, *text.text(), true);
}
Value escape_once(Interpreter& in, const Value& input, const Items&) {
  return escape(in.meter, input);
}
Value escape_always(Interpreter& in, const Value& input, const Items&) {
  return escape(in.meter, str(in.meter, input));
}

Value tojson(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  JsonOptions options;
  options.ensure_ascii = flag(arguments[0]);
  options.sort_keys = flag(arguments[3]);
  const Value& indent = arguments[1];
  if (!indent.is_missing() && !indent.is_none() && !input.text()) {
    options.lines = true;
    options.item_separator = ",";
    options.indent =
        indent.text()
            ? indent.text()->bytes
            : padded(meter, "", expect_index(meter, indent, "indent"), Align::kLeft).bytes();
    options.from_users = indent.text() && !indent.text()->marks.empty();
  }
  if (!arguments[2].is_missing() && !arguments[2].is_none()) {
    const Items separators = collect(meter, arguments[2]);
    if (separators.size() != 2) meter.fail("tojson: expected two separators");
    options.item_separator = expect_text(meter, separators[0], "separators").bytes;
    options.key_separator = expect_text(meter, separators[1], "separators").bytes;
    for (const Value& separator : separators)
      options.from_users = options.from_users || !separator.text()->marks.empty();
  }
  return make_text(meter, to_json(meter, input, options));
}

constexpr Filter kFilters[] = {
    {{"capitalize", "", 0}, change_case<to_capitalized>, nullptr},
    {{"center", "width", 0}, center, nullptr},
    {{"e", "", 0}, escape_once, nullptr},
    {{"escape", "", 0}, escape_once, nullptr},
    {{"forceescape", "", 0}, escape_always, nullptr},
    {{"format", "", 0}, nullptr, format},
    {{"indent", "width first blank", 0}, indent, nullptr},
    {{"join", "d attribute", 0}, join, nullptr},
    {{"lower", "", 0}, change_case<to_lower>, nullptr},
    {{"replace", "old new count", 2}, replace, nullptr},
    {{"safe", "", 0}, safe, nullptr},
    {{"string", "", 0}, string, nullptr},
    {{"title", "", 0}, title, nullptr},
    {{"tojson", "ensure_ascii indent separators sort_keys", 0}, tojson, nullptr},
    {{"trim", "chars", 0}, trim, nullptr},
    {{"truncate", "length killwords end leeway", 0}, truncate, nullptr},
    {{"upper", "", 0}, change_case<to_upper>, nullptr},
    {{"urlencode", "", 0}, urlencode, nullptr},
    {{"wordcount", "", 0}, count_words, nullptr},
};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

}  // namespace wick::jinja
