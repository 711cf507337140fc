#include "text/jinja/text.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/range.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

/// The text with & < > ' " as entities.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string_view strip_spaces_left(std::string_view text) {
  for (size_t at = 0; !text.empty(); text.remove_prefix(at), at = 0)
    if (!is_space(next_code_point(text, at))) break;
  return text;
}

std::string_view strip_spaces_right(std::string_view text) {
  while (!text.empty()) {
    const size_t start = start_of_last(text, text.size());
    size_t at = start;
    if (!is_space(next_code_point(text, at))) break;
    text = text.substr(0, start);
  }
  return text;
}

std::string_view strip_spaces(std::string_view text) {
  return strip_spaces_right(strip_spaces_left(text));
}

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? size_t(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

size_t find_last_text(Meter& meter, std::string_view text, std::string_view part) {
  if (part.size() > text.size()) return std::string_view::npos;
  size_t at = text.size() - part.size();
  for (;; at--) {
    // Bytes that agree before the first difference are read again at the next place.
    if (text.compare(at, part.size(), part) == 0) return at;
    if (at % 64 == 0) meter.step_bytes(64 * part.size() / 8);
    if (at == 0) return std::string_view::npos;
  }
}

size_t offset_of(const Text& text, int64_t index) {
  if (text.is_ascii()) return size_t(index);
  size_t at = 0;
  for (int64_t i = 0; i < index; i++) at += character_length(text.bytes[at]);
  return at;
}

MarkedString replaced(Meter& meter, const MarkedView& view, std::string_view part,
                      const MarkedView& replacement, int64_t count) {
  const std::string_view text = view.bytes();
  meter.step_bytes(text.size());
  MarkedString out;
  size_t at = 0;  // text before this is written
  const auto replace_at = [&](size_t found) {
    meter.step_bytes(replacement.size());
    meter.check_room(out.memory() + replacement.size());
    out += view.substr(at, found - at);
    out += replacement;
    at = found;
  };
  if (part.empty()) {  // before each code point and at the end
    for (size_t i = 0; count != 0; count--) {
      replace_at(i);
      if (i == text.size()) break;
      i += character_length(text[i]);
    }
    out += view.substr(at);
    return out;
  }
  for (; count != 0; count--) {
    const size_t found = find_text(text, part, at);
    if (found == text.npos) break;
    replace_at(found);
    at += part.size();
  }
  out += view.substr(at);
  return out;
}

std::string_view strip_chars(Meter& meter, std::string_view text, std::string_view chars,
                             bool at_start, bool at_end) {
  meter.step_bytes(text.size() + 16 * chars.size());
  std::u32string set;
  for (size_t at = 0; at < chars.size();) set += next_code_point(chars, at);
  std::sort(set.begin(), set.end());
  const auto is_in_set = [&](size_t at) {
    return std::binary_search(set.begin(), set.end(), next_code_point(text, at));
  };
  while (at_start && !text.empty() && is_in_set(0)) text.remove_prefix(character_length(text[0]));
  while (at_end && !text.empty()) {
    const size_t last = start_of_last(text, text.size());
    if (!is_in_set(last)) break;
    text = text.substr(0, last);
  }
  return text;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t code = next_code_point(text, at);
    const bool is_end = (0x0a <= code && code <= 0x0d) || (0x1c <= code && code <= 0x1e) ||
                        code == 0x85 || code == 0x2028 || code == 0x2029;
    if (!is_end) continue;
    if (code == '\r' && at < text.size() && text[at] == '\n') at++;
    lines.push_back(text.substr(start, (keep_ends ? at : end) - start));
    start = at;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

MarkedString padded(Meter& meter, const MarkedView& text, int64_t width, Align align,
                    const MarkedView& fill) {
  const int64_t length = count_code_points(text.bytes());
  const int64_t room = std::max<int64_t>(0, width - length);
  meter.check_room(room, fill.size());
  meter.step_bytes(text.size() + size_t(room) * fill.size());
  // Python's center puts the odd one at the left if the width is odd.
  const int64_t left = align == Align::kLeft    ? 0
                       : align == Align::kRight ? room
                                                : room / 2 + (room & width & 1);
  MarkedString out;
  for (int64_t i = 0; i < left; i++) out += fill;
  out += text;
  for (int64_t i = left; i < room; i++) out += fill;
  return out;
}

MarkedString with_case(Meter& meter, const MarkedView& text, CaseChange change) {
  bool first = true, marked = false, alike = true;
  text.each_run([&](std::string_view, bool run_marked) {
    if (std::exchange(first, false))
      marked = run_marked;
    else
      alike = false;
  });
  meter.step_bytes(text.size());
  if (alike) {
    std::string changed = change(text.bytes(), nullptr);
    return marked ? MarkedString::marked(std::move(changed))
                  : MarkedString::unmarked(std::move(changed));
  }
  meter.check_room(int64_t(text.size()), sizeof(size_t));
  Places places;
  std::string changed = change(text.bytes(), &places);
  Marks marks;
  text.each_run([&](std::string_view run, bool run_marked) {
    const size_t begin = size_t(run.data() - text.bytes().data());
    if (run_marked) marks.add(places[begin], places[begin + run.size()]);
  });
  return {std::move(changed), std::move(marks)};
}

Value escape(Meter& meter, const Value& value) {
  if (value.text() && value.text()->markup) return value;
  const Value text = str(meter, value);
  MarkedString out;
  out.append_runs(*text.text(), escaped);
  return make_text(meter, std::move(out), true);
}

std::optional<Value> item_at(Meter& meter, const Value& value, int64_t index) {
  const int64_t length = *length_of(value);
  if (index < 0) index += length;
  if (index < 0 || index >= length) return std::nullopt;
  if (const Sequence* sequence = value.sequence()) return sequence->items[size_t(index)];
  const Text& text = *value.text();
  if (!text.is_ascii()) meter.step_bytes(size_t(index));
  const size_t at = offset_of(text, index);
  return make_text(meter, MarkedView(text).substr(at, character_length(text.bytes[at])),
                   text.markup);
}

SliceRange slice_range(const Meter& meter, int64_t length, const Value& start, const Value& stop,
                       const Value& step) {
  const auto given = [](const Value& bound) { return !bound.is_missing() && !bound.is_none(); };
  const char* const what = "slice indices";
  const int64_t by = given(step) ? expect_index(meter, step, what) : 1;
  if (by == 0) meter.fail("slice step cannot be zero");
  const int64_t lowest = by < 0 ? -1 : 0, highest = by < 0 ? length - 1 : length;
  const auto clamp = [&](const Value& bound, int64_t otherwise) {
    if (!given(bound)) return otherwise;
    int64_t i = expect_index(meter, bound, what);
    if (i < 0) i += length;
    return std::min(std::max(i, lowest), highest);
  };
  const int64_t first = clamp(start, by < 0 ? highest : lowest);
  const int64_t end = clamp(stop, by < 0 ? lowest : highest);
  int64_t count = 0;
  if (by > 0 && first < end) count = (end - first - 1) / by + 1;
  if (by < 0 && end < first) count = int64_t(uint64_t(first - end - 1) / (0 - uint64_t(by))) + 1;
  return {first, end, by, count};
}

Value slice(Meter& meter, const Value& value, const Value& start, const Value& stop,
            const Value& step) {
  if (value.undefined()) fail_undefined(meter, value);
  const Range* const range = value.object_as<Range>();
  if (!value.text() && !value.sequence() && !range)
    meter.fail("'", value.type_name(), "' object is not subscriptable by a slice");
  const SliceRange part = slice_range(meter, *length_of(value), start, stop, step);
  if (range) return range->part(meter, part);
  meter.step(part.count);
  if (const Sequence* sequence = value.sequence()) {
    meter.check_room(part.count, sizeof(Value));
    Items items;
    items.reserve(size_t(part.count));
    for (int64_t i = 0; i < part.count; i++)
      items.push_back(sequence->items[size_t(part.first + i * part.step)]);
    return sequence->is_tuple() ? make_tuple(meter, std::move(items))
                                : make_list(meter, std::move(items));
  }
  const Text& text = *value.text();
  meter.step_bytes(text.bytes.size());
  if (part.count == 0) return make_unmarked(meter, "", text.markup);
  if (part.step == 1) {
    const size_t from = offset_of(text, part.first), to = offset_of(text, part.first + part.count);
    return make_text(meter, MarkedView(text).substr(from, to - from), text.markup);
  }
  std::vector<size_t> starts;  // of the code points, and the end
  for (size_t at = 0; at < text.bytes.size(); at += character_length(text.bytes[at]))
    starts.push_back(at);
  starts.push_back(text.bytes.size());
  MarkedString string;
  for (int64_t i = 0; i < part.count; i++) {
    const size_t at = size_t(part.first + i * part.step);
    string += MarkedView(text).substr(starts[at], starts[at + 1] - starts[at]);
  }
  return make_text(meter, std::move(string), text.markup);
}

}  // namespace wick::jinja
