// Parts of strings, and the escaping of markup.
#pragma once
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

namespace wick::jinja {

/// The text without white space at its ends.
std::string_view strip_spaces(std::string_view text);
std::string_view strip_spaces_left(std::string_view text);
std::string_view strip_spaces_right(std::string_view text);

/// The byte at which `part` starts, from byte `from` on; npos without it. Takes linear time.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);
/// The byte at which the last `part` starts; npos if it is not there.
size_t find_last_text(Meter& meter, std::string_view text, std::string_view part);
/// The byte at which the code point of this index starts; index is at most the length.
size_t offset_of(const Text& text, int64_t index);

/// With the first `count` occurrences of a part replaced, all of them if count < 0.
MarkedString replaced(Meter& meter, const MarkedView& text, std::string_view part,
                      const MarkedView& replacement, int64_t count = -1);
/// str.strip(chars): without code points of a set at its start, its end or both.
std::string_view strip_chars(Meter& meter, std::string_view text, std::string_view chars,
                             bool at_start, bool at_end);
/// str.splitlines(keep_ends).
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
/// The string at the left, in the middle or at the right of a field of `width` code points.
enum class Align { kLeft, kCenter, kRight };
MarkedString padded(Meter& meter, const MarkedView& text, int64_t width, Align align,
                    const MarkedView& fill = " ");

/// A function of unicode.h that changes letter case, and its result for a text with marks.
using CaseChange = std::string (*)(std::string_view text, Places* places);
MarkedString with_case(Meter& meter, const MarkedView& text, CaseChange change);

/// markupsafe's escape: markup as it is; other values' str() with & < > ' " as entities.
Value escape(Meter& meter, const Value& value);

/// value[index], where index counts from the end if negative; nullopt out of range.
std::optional<Value> item_at(Meter& meter, const Value& value, int64_t index);
/// value[start:stop:step]; missing or None bounds as in Python. Errors: Python's.
Value slice(Meter& meter, const Value& value, const Value& start, const Value& stop,
            const Value& step);

/// The indexes that a slice of a sequence of this length visits: first, first + step, ... before
/// end.
struct SliceRange {
  int64_t first, end, step, count;
};
SliceRange slice_range(const Meter& meter, int64_t length, const Value& start, const Value& stop,
                       const Value& step);

}  // namespace wick::jinja
