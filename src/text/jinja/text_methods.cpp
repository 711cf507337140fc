// Methods of str but for those that split and join.
#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/attributes.h"
#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

Value like(Interpreter& in, const Value& self, MarkedString string) {
  return make_text(in.meter, std::move(string), self.text()->markup);
}

/// A part of the text's bytes.
Value part_of(Interpreter& in, const Value& self, std::string_view part) {
  return make_text(in.meter, MarkedView(*self.text()).part(part), self.text()->markup);
}

// Case.

template <CaseChange change>
Value change_case(Interpreter& in, const Value& self, const Items&) {
  return like(in, self, with_case(in.meter, *self.text(), change));
}

// Classes of characters.

template <class F>
bool all_of(std::string_view text, const F& holds) {
  if (text.empty()) return false;
  for (size_t at = 0; at < text.size();)
    if (!holds(next_code_point(text, at))) return false;
  return true;
}

bool is_alnum(char32_t code) { return is_alpha(code) || is_numeric(code) || is_digit(code); }

template <bool (*holds)(char32_t)>
Value all_are(Interpreter& in, const Value& self, const Items&) {
  in.meter.step_bytes(self.text()->bytes.size());
  return all_of(self.text()->bytes, holds);
}

Value is_ascii_text(Interpreter&, const Value& self, const Items&) {
  return self.text()->is_ascii();
}

Value is_printable_text(Interpreter& in, const Value& self, const Items&) {
  in.meter.step_bytes(self.text()->bytes.size());
  return self.text()->bytes.empty() || all_of(self.text()->bytes, is_printable);
}

Value is_identifier(Interpreter& in, const Value& self, const Items&) {
  in.meter.step_bytes(self.text()->bytes.size());
  bool first = true;
  return all_of(self.text()->bytes, [&](char32_t code) {
    return std::exchange(first, false) ? is_name_start(code) : is_name_part(code);
  });
}

Value is_lower_text(Interpreter& in, const Value& self, const Items&) {
  in.meter.step_bytes(self.text()->bytes.size());
  return is_lower_case(self.text()->bytes);
}

Value is_upper_text(Interpreter& in, const Value& self, const Items&) {
  in.meter.step_bytes(self.text()->bytes.size());
  return is_upper_case(self.text()->bytes);
}

Value is_title_text(Interpreter& in, const Value& self, const Items&) {
  in.meter.step_bytes(self.text()->bytes.size());
  bool after_letter = false, any = false;
  for (size_t at = 0; at < self.text()->bytes.size();) {
    const char32_t code = next_code_point(self.text()->bytes, at);
    const bool upper = is_upper(code) || is_title(code), lower = is_lower(code);
    if (upper ? after_letter : lower && !after_letter) return false;
    after_letter = upper || lower;
    any |= after_letter;
  }
  return any;
}

// Search.

/// The bytes [first, end) that code points [start, stop) take; false if start is past the end.
bool byte_range(Interpreter& in, const Text& text, const Value& start, const Value& stop,
                size_t& first, size_t& end) {
  in.meter.step_bytes(text.bytes.size());
  const SliceRange range = slice_range(in.meter, text.length, start, stop, {});
  const auto from = start.is_missing() ? std::nullopt : start.index();
  if ((from && *from > text.length) || range.first > range.end) return false;
  first = offset_of(text, range.first);
  end = offset_of(text, range.end);
  return true;
}

/// The index of the first or last occurrence; -1 if the part does not occur.
template <bool last>
int64_t index_of(Interpreter& in, const Value& self, const Items& arguments) {
  const Text& text = *self.text();
  const Text& part = expect_text(in.meter, arguments[0], "find");
  size_t first, end;
  if (!byte_range(in, text, arguments[1], arguments[2], first, end)) return -1;
  const auto where = std::string_view(text.bytes).substr(first, end - first);
  const size_t found =
      last ? find_last_text(in.meter, where, part.bytes) : find_text(where, part.bytes);
  if (found == where.npos) return -1;
  return count_code_points(std::string_view(text.bytes).substr(0, first + found));
}

template <bool last>
Value find_part(Interpreter& in, const Value& self, const Items& arguments) {
  return index_of<last>(in, self, arguments);
}

template <bool last>
Value expect_part(Interpreter& in, const Value& self, const Items& arguments) {
  const int64_t index = index_of<last>(in, self, arguments);
  if (index < 0) in.meter.fail("substring not found");
  return index;
}

Value count_part(Interpreter& in, const Value& self, const Items& arguments) {
  const Text& part = expect_text(in.meter, arguments[0], "count");
  size_t first, end;
  if (!byte_range(in, *self.text(), arguments[1], arguments[2], first, end)) return 0;
  const auto text = std::string_view(self.text()->bytes).substr(first, end - first);
  if (part.bytes.empty()) return count_code_points(text) + 1;
  int64_t count = 0;
  for (size_t at = 0; (at = find_text(text, part.bytes, at)) != text.npos; count++)
    at += part.bytes.size();
  return count;
}

template <bool at_start>
Value has_at_end(Interpreter& in, const Value& self, const Items& arguments) {
  size_t first, end;
  const bool is_valid = byte_range(in, *self.text(), arguments[1], arguments[2], first, end);
  const auto text = is_valid ? std::string_view(self.text()->bytes).substr(first, end - first) : "";
  const Items parts =
      arguments[0].is_tuple() ? arguments[0].sequence()->items : Items{arguments[0]};
  return std::any_of(parts.begin(), parts.end(), [&](const Value& value) {
    const Text& part = expect_text(in.meter, value, at_start ? "startswith" : "endswith");
    in.meter.step_bytes(std::min(part.bytes.size(), text.size()));
    return is_valid && (at_start ? text.starts_with(part.bytes) : text.ends_with(part.bytes));
  });
}

// Changes.

template <bool at_start, bool at_end>
Value strip(Interpreter& in, const Value& self, const Items& arguments) {
  std::string_view text = self.text()->bytes;
  in.meter.step_bytes(text.size());
  if (!arguments[0].is_missing() && !arguments[0].is_none()) {
    const Text& chars = expect_text(in.meter, arguments[0], "strip");
    return part_of(in, self, strip_chars(in.meter, text, chars.bytes, at_start, at_end));
  }
  if (at_start) text = strip_spaces_left(text);
  if (at_end) text = strip_spaces_right(text);
  return part_of(in, self, text);
}

Value replace(Interpreter& in, const Value& self, const Items& arguments) {
  const Text& part = expect_text(in.meter, arguments[0], "replace");
  expect_text(in.meter, arguments[1], "replace");
  const Value with = self.text()->markup ? escape(in.meter, arguments[1]) : arguments[1];
  return like(in, self,
              replaced(in.meter, *self.text(), part.bytes, *with.text(),
                       index_or(in.meter, arguments[2], "replace", -1)));
}

Value remove_prefix(Interpreter& in, const Value& self, const Items& arguments) {
  const std::string& prefix = expect_text(in.meter, arguments[0], "removeprefix").bytes;
  const std::string_view text = self.text()->bytes;
  return text.starts_with(prefix) ? part_of(in, self, text.substr(prefix.size())) : self;
}

Value remove_suffix(Interpreter& in, const Value& self, const Items& arguments) {
  const std::string& suffix = expect_text(in.meter, arguments[0], "removesuffix").bytes;
  const std::string_view text = self.text()->bytes;
  if (!text.ends_with(suffix)) return self;
  return part_of(in, self, text.substr(0, text.size() - suffix.size()));
}

template <Align align>
Value pad(Interpreter& in, const Value& self, const Items& arguments) {
  const int64_t width = expect_index(in.meter, arguments[0], "width");
  MarkedView fill = " ";
  if (!arguments[1].is_missing()) {
    const Text& text = expect_text(in.meter, arguments[1], "fillchar");
    if (text.length != 1) in.meter.fail("the fill character must be exactly one character long");
    fill = text;
  }
  return like(in, self, padded(in.meter, *self.text(), width, align, fill));
}

Value fill_zeros(Interpreter& in, const Value& self, const Items& arguments) {
  const std::string& text = self.text()->bytes;
  const size_t sign = text.starts_with("+") || text.starts_with("-") ? 1 : 0;
  const int64_t width = expect_index(in.meter, arguments[0], "zfill");
  const MarkedView view = *self.text();
  MarkedString out(view.substr(0, sign));
  out += padded(in.meter, view.substr(sign), std::max<int64_t>(width, 0) - int64_t(sign),
                Align::kRight, "0");
  return like(in, self, std::move(out));
}

Value expand_tabs(Interpreter& in, const Value& self, const Items& arguments) {
  const int64_t size = index_or(in.meter, arguments[0], "expandtabs", 8);
  MarkedString out;
  int64_t column = 0;
  out.append_runs(*self.text(), [&](std::string_view run) {
    std::string expanded;
    for (const char c : run) {
      if (c == '\t') {
        const int64_t spaces = size > 0 ? size - column % size : 0;
        in.meter.check_room(out.memory() + expanded.size() + size_t(spaces));
        in.meter.step_bytes(size_t(spaces));
        expanded.append(size_t(spaces), ' ');
        column += spaces;
        continue;
      }
      expanded += c;
      if (c == '\n' || c == '\r')
        column = 0;
      else if (starts_character(c))
        column++;
    }
    return expanded;
  });
  return like(in, self, std::move(out));
}

Value format(Interpreter& in, const Value& self, Arguments&& arguments) {
  return format_fields(in, self, arguments);
}

Value format_map(Interpreter& in, const Value& self, const Items& arguments) {
  if (!arguments[0].dict()) in.meter.fail("format_map: expected a dict");
  Arguments named;
  for (const auto& [key, value] : arguments[0].dict()->entries)
    if (key.text()) named.named.emplace_back(MarkedString(*key.text()), value);
  return format_fields(in, self, named);
}

constexpr MethodRow kMethods[] = {
    {{"capitalize", "", 0}, change_case<to_capitalized>, nullptr},
    {{"casefold", "", 0}, change_case<to_folded_case>, nullptr},
    {{"center", "width fillchar /", 1}, pad<Align::kCenter>, nullptr},
    {{"count", "sub start end /", 1}, count_part, nullptr},
    {{"endswith", "suffix start end /", 1}, has_at_end<false>, nullptr},
    {{"expandtabs", "tabsize", 0}, expand_tabs, nullptr},
    {{"find", "sub start end /", 1}, find_part<false>, nullptr},
    {{"format", "", 0}, nullptr, format},
    {{"format_map", "mapping /", 1}, format_map, nullptr},
    {{"index", "sub start end /", 1}, expect_part<false>, nullptr},
    {{"isalnum", "", 0}, all_are<is_alnum>, nullptr},
    {{"isalpha", "", 0}, all_are<is_alpha>, nullptr},
    {{"isascii", "", 0}, is_ascii_text, nullptr},
    {{"isdecimal", "", 0}, all_are<is_decimal>, nullptr},
    {{"isdigit", "", 0}, all_are<is_digit>, nullptr},
    {{"isidentifier", "", 0}, is_identifier, nullptr},
    {{"islower", "", 0}, is_lower_text, nullptr},
    {{"isnumeric", "", 0}, all_are<is_numeric>, nullptr},
    {{"isprintable", "", 0}, is_printable_text, nullptr},
    {{"isspace", "", 0}, all_are<is_space>, nullptr},
    {{"istitle", "", 0}, is_title_text, nullptr},
    {{"isupper", "", 0}, is_upper_text, nullptr},
    {{"ljust", "width fillchar /", 1}, pad<Align::kLeft>, nullptr},
    {{"lower", "", 0}, change_case<to_lower>, nullptr},
    {{"lstrip", "chars /", 0}, strip<true, false>, nullptr},
    {{"removeprefix", "prefix /", 1}, remove_prefix, nullptr},
    {{"removesuffix", "suffix /", 1}, remove_suffix, nullptr},
    {{"replace", "old new count /", 2}, replace, nullptr},
    {{"rfind", "sub start end /", 1}, find_part<true>, nullptr},
    {{"rindex", "sub start end /", 1}, expect_part<true>, nullptr},
    {{"rjust", "width fillchar /", 1}, pad<Align::kRight>, nullptr},
    {{"rstrip", "chars /", 0}, strip<false, true>, nullptr},
    {{"startswith", "prefix start end /", 1}, has_at_end<true>, nullptr},
    {{"strip", "chars /", 0}, strip<true, true>, nullptr},
    {{"swapcase", "", 0}, change_case<to_swapped_case>, nullptr},
    {{"title", "", 0}, change_case<to_title>, nullptr},
    {{"upper", "", 0}, change_case<to_upper>, nullptr},
    {{"zfill", "width /", 1}, fill_zeros, nullptr},
};

}  // namespace

std::span<const MethodRow> text_methods() { return kMethods; }

}  // namespace wick::jinja
