// Strings that know which of their bytes come from users: those bytes are marked. Whatever copies
// characters copies their marks; a character that is written in place of another one, such as an
// escape or a capital, has that one's mark.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/marked_text.h"

namespace wick::jinja {

struct Text;

/// The marked ranges of a string: in order, apart from each other, whole characters.
class Marks {
 public:
  bool empty() const { return ranges_.empty(); }
  const std::vector<ByteRange>& ranges() const { return ranges_; }
  /// The bytes of memory that they take.
  size_t memory() const { return ranges_.capacity() * sizeof(ByteRange); }
  /// Marks bytes [begin, end), which start at or after the end of the last range.
  void add(size_t begin, size_t end);
  /// The first range that ends after a byte.
  std::vector<ByteRange>::const_iterator from(size_t byte) const;

 private:
  std::vector<ByteRange> ranges_;
};

class MarkedString;

/// A string or a part of one. It reads the string's memory.
class MarkedView {
 public:
  MarkedView() = default;
  MarkedView(const char* unmarked) : bytes_(unmarked) {}  // NOLINT: implicit conversion
  MarkedView(const Text& text);                           // NOLINT
  MarkedView(const MarkedString& string);                 // NOLINT
  /// Text of the program or the template.
  static MarkedView unmarked(std::string_view bytes) {
    MarkedView view;
    view.bytes_ = bytes;
    return view;
  }

  std::string_view bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  MarkedView substr(size_t at, size_t count = std::string_view::npos) const;
  /// The same for a part of bytes().
  MarkedView part(std::string_view part) const;
  /// Whether no byte is marked.
  bool is_unmarked() const;

  /// Calls found(part, marked) for the parts that are marked and for those between, in order.
  template <class Found>
  void each_run(const Found& found) const {
    size_t done = 0;
    const auto pass = [&](size_t end, bool marked) {
      if (end > done) found(bytes_.substr(done, end - done), marked);
      done = std::max(done, end);
    };
    if (marks_) {
      for (auto range = marks_->from(at_); range != marks_->ranges().end(); ++range) {
        if (size_t(range->begin) >= at_ + size()) break;
        if (size_t(range->begin) > at_) pass(size_t(range->begin) - at_, false);
        pass(std::min(size_t(range->end) - at_, size()), true);
      }
    }
    pass(size(), false);
  }

 private:
  std::string_view bytes_;
  const Marks* marks_ = nullptr;
  size_t at_ = 0;  // where the part starts in the string that the marks belong to
};

/// A string that grows at its end.
class MarkedString {
 public:
  MarkedString() = default;
  explicit MarkedString(const MarkedView& view) { *this += view; }
  /// Text of the program or the template.
  static MarkedString unmarked(std::string bytes) {
    MarkedString string;
    string.bytes_ = std::move(bytes);
    return string;
  }
  MarkedString(std::string bytes, Marks marks)
      : bytes_(std::move(bytes)), marks_(std::move(marks)) {}
  /// Text of users.
  static MarkedString marked(std::string bytes) {
    MarkedString string = unmarked(std::move(bytes));
    string.mark_from(0);
    return string;
  }

  const std::string& bytes() const { return bytes_; }
  const Marks& marks() const { return marks_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  /// The bytes of memory that the string takes.
  size_t memory() const { return bytes_.size() + marks_.memory(); }
  std::string take_bytes() && { return std::move(bytes_); }
  Marks take_marks() && { return std::move(marks_); }

  MarkedString& operator+=(const MarkedView& view);
  // Text of the program or the template.
  MarkedString& operator+=(const std::string& unmarked) { return bytes_ += unmarked, *this; }
  MarkedString& operator+=(std::string_view unmarked) { return bytes_ += unmarked, *this; }
  MarkedString& operator+=(const char* unmarked) { return bytes_ += unmarked, *this; }
  MarkedString& operator+=(char unmarked) { return bytes_ += unmarked, *this; }
  /// Marks the bytes from this one on; no mark reaches beyond it.
  void mark_from(size_t begin) { marks_.add(begin, size()); }
  /// Appends written(part) for each part of the view that is marked and for each between, in order,
  /// with the same marks.
  template <class Write>
  void append_runs(const MarkedView& view, const Write& written) {
    view.each_run([&](std::string_view run, bool marked) {
      const size_t begin = size();
      bytes_ += written(run);
      if (marked) mark_from(begin);
    });
  }

  friend bool operator==(const MarkedString& lhs, std::string_view rhs) {
    return lhs.bytes_ == rhs;
  }

 private:
  std::string bytes_;
  Marks marks_;
};

/// The string with all its bytes marked if `by` has a mark.
MarkedString marked_like(MarkedString string, const MarkedView& by);

}  // namespace wick::jinja
