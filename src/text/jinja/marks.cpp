#include "text/jinja/marks.h"

#include <algorithm>

#include "text/jinja/value.h"

namespace wick::jinja {

void Marks::add(size_t begin, size_t end) {
  if (begin >= end) return;
  if (!ranges_.empty() && ranges_.back().end == int64_t(begin))
    ranges_.back().end = int64_t(end);
  else
    ranges_.push_back({int64_t(begin), int64_t(end)});
}

std::vector<ByteRange>::const_iterator Marks::from(size_t byte) const {
  return std::upper_bound(ranges_.begin(), ranges_.end(), int64_t(byte),
                          [](int64_t at, const ByteRange& range) { return at < range.end; });
}

MarkedView::MarkedView(const Text& text) : bytes_(text.bytes), marks_(&text.marks) {}

MarkedView::MarkedView(const MarkedString& string)
    : bytes_(string.bytes()), marks_(&string.marks()) {}

MarkedView MarkedView::substr(size_t at, size_t count) const {
  MarkedView view = *this;
  view.bytes_ = bytes_.substr(at, count);
  view.at_ = at_ + at;
  return view;
}

MarkedView MarkedView::part(std::string_view part) const {
  return part.empty() ? MarkedView() : substr(size_t(part.data() - bytes_.data()), part.size());
}

bool MarkedView::is_unmarked() const {
  if (!marks_ || marks_->empty() || size() == 0) return true;
  const auto range = marks_->from(at_);
  return range == marks_->ranges().end() || size_t(range->begin) >= at_ + size();
}

MarkedString& MarkedString::operator+=(const MarkedView& view) {
  append_runs(view, [](std::string_view run) { return run; });
  return *this;
}

MarkedString marked_like(MarkedString string, const MarkedView& by) {
  return by.is_unmarked() ? std::move(string)
                          : MarkedString::marked(std::move(string).take_bytes());
}

}  // namespace wick::jinja
