// Methods of str that split and join.
#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/attributes.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

/// Parts of a text that become a list.
class Parts {
 public:
  explicit Parts(Meter& meter) : meter_(meter) {}
  int64_t size() const { return int64_t(parts_.size()); }
  void push_back(std::string_view part) {
    meter_.check_room(size(), sizeof(Value) + sizeof(Text));
    parts_.push_back(part);
  }
  void reverse() { std::reverse(parts_.begin(), parts_.end()); }
  const std::vector<std::string_view>& list() const { return parts_; }

 private:
  Meter& meter_;
  std::vector<std::string_view> parts_;
};

Value texts(Interpreter& in, const Value& self, const std::vector<std::string_view>& parts) {
  Items items;
  items.reserve(parts.size());
  for (const std::string_view part : parts)
    items.push_back(make_text(in.meter, MarkedView(*self.text()).part(part), self.text()->markup));
  return make_list(in.meter, std::move(items));
}

/// At runs of white space, from the left.
void split_spaces(std::string_view text, int64_t limit, Parts& parts) {
  text = strip_spaces_left(text);
  while (!text.empty()) {
    if (parts.size() == limit) {
      parts.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      size_t next = end;
      if (is_space(next_code_point(text, next))) break;
      end = next;
    }
    parts.push_back(text.substr(0, end));
    text = strip_spaces_left(text.substr(end));
  }
}

/// At runs of white space, from the right; the last part first.
void split_spaces_from_right(std::string_view text, int64_t limit, Parts& parts) {
  text = strip_spaces_right(text);
  while (!text.empty()) {
    if (parts.size() == limit) {
      parts.push_back(text);
      break;
    }
    size_t start = text.size();
    while (start > 0) {
      const size_t before = start_of_last(text, start);
      size_t at = before;
      if (is_space(next_code_point(text, at))) break;
      start = before;
    }
    parts.push_back(text.substr(start));
    text = strip_spaces_right(text.substr(0, start));
  }
}

void split_at(std::string_view text, std::string_view separator, int64_t limit, Parts& parts) {
  while (parts.size() != limit) {
    const size_t found = find_text(text, separator);
    if (found == text.npos) break;
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + separator.size());
  }
  parts.push_back(text);
}

/// The last part first.
void split_at_from_right(Meter& meter, std::string_view text, std::string_view separator,
                         int64_t limit, Parts& parts) {
  while (parts.size() != limit) {
    const size_t found = find_last_text(meter, text, separator);
    if (found == text.npos) break;
    parts.push_back(text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  parts.push_back(text);
}

template <bool from_right>
Value split(Interpreter& in, const Value& self, const Items& arguments) {
  const std::string_view text = self.text()->bytes;
  in.meter.step_bytes(text.size());
  const int64_t limit = index_or(in.meter, arguments[1], "maxsplit", -1);
  Parts parts(in.meter);
  if (arguments[0].is_missing() || arguments[0].is_none())
    from_right ? split_spaces_from_right(text, limit, parts) : split_spaces(text, limit, parts);
  else {
    const std::string& separator = expect_text(in.meter, arguments[0], "separator").bytes;
    if (separator.empty()) in.meter.fail("empty separator");
    from_right ? split_at_from_right(in.meter, text, separator, limit, parts)
               : split_at(text, separator, limit, parts);
  }
  if (from_right) parts.reverse();
  return texts(in, self, parts.list());
}

Value split_into_lines(Interpreter& in, const Value& self, const Items& arguments) {
  in.meter.step_bytes(self.text()->bytes.size());
  in.meter.check_room(int64_t(self.text()->bytes.size()), sizeof(std::string_view));
  const bool keep_ends = index_or(in.meter, arguments[0], "keepends", 0) != 0;
  return texts(in, self, split_lines(self.text()->bytes, keep_ends));
}

template <bool from_right>
Value partition(Interpreter& in, const Value& self, const Items& arguments) {
  const std::string_view text = self.text()->bytes;
  const Text& given = expect_text(in.meter, arguments[0], "separator");
  const std::string& separator = given.bytes;
  if (separator.empty()) in.meter.fail("empty separator");
  in.meter.step_bytes(text.size());
  const size_t found =
      from_right ? find_last_text(in.meter, text, separator) : find_text(text, separator);
  const auto part = [&](std::string_view bytes) {
    return make_text(in.meter, MarkedView(*self.text()).part(bytes), self.text()->markup);
  };
  if (found == text.npos) {
    Items whole{part(text), part(""), part("")};
    if (from_right) std::swap(whole[0], whole[2]);
    return make_tuple(in.meter, std::move(whole));
  }
  return make_tuple(in.meter,
                    {part(text.substr(0, found)), part(text.substr(found, separator.size())),
                     part(text.substr(found + separator.size()))});
}

Value join(Interpreter& in, const Value& self, const Items& arguments) {
  const bool markup = self.text()->markup;
  MarkedString out;
  bool first = true;
  const auto append = [&](const Text& text) {
    in.meter.step_bytes(text.bytes.size());
    in.meter.check_room(out.memory() + text.bytes.size() + text.marks.memory());
    out += text;
  };
  const auto iterator = iterate(in.meter, arguments[0]);
  for (Value item; iterator->next(item);) {
    if (!std::exchange(first, false)) append(*self.text());
    if (markup) item = escape(in.meter, item);
    if (!item.text()) in.meter.fail("join: expected strings, found '", item.type_name(), "'");
    append(*item.text());
  }
  return make_text(in.meter, std::move(out), markup);
}

constexpr MethodRow kMethods[] = {
    {{"join", "iterable /", 1}, join, nullptr},
    {{"partition", "sep /", 1}, partition<false>, nullptr},
    {{"rpartition", "sep /", 1}, partition<true>, nullptr},
    {{"rsplit", "sep maxsplit", 0}, split<true>, nullptr},
    {{"split", "sep maxsplit", 0}, split<false>, nullptr},
    {{"splitlines", "keepends", 0}, split_into_lines, nullptr},
};

}  // namespace

std::span<const MethodRow> split_methods() { return kMethods; }

}  // namespace wick::jinja
