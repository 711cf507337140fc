#include "text/answers/token_marks.h"

#include <algorithm>

namespace wick::answers {

void TokenMarks::add_ids(std::span<const int64_t> ids) {
  if (format_->marks.empty()) return;
  for (const int64_t id : ids) {
    const std::string text = tokens_.push(id);
    decoded_ += text.size();
    const auto mark = std::find_if(format_->marks.begin(), format_->marks.end(),
                                   [&](const Mark& one) { return one.id == id; });
    if (mark == format_->marks.end()) continue;
    const size_t size = text.ends_with(mark->spelling) ? mark->spelling.size() : 0;
    found_.push_back(
        {decoded_ - size, decoded_, Symbol(kFirstMark + (mark - format_->marks.begin()))});
  }
}

/// Adds the markers that stand at the end of the text that was seen, in their order.
void TokenMarks::add_due(Symbols& symbols) {
  while (!found_.empty() && found_.front().begin == found_.front().end &&
         found_.front().end <= seen_) {
    symbols += found_.front().symbol;
    found_.pop_front();
  }
}

Symbols TokenMarks::push(std::string_view text, std::span<const int64_t> ids) {
  add_ids(ids);
  Symbols symbols;
  add_due(symbols);
  for (const char c : text) {
    const bool is_marker = !found_.empty() && found_.front().begin <= seen_;
    if (!is_marker) symbols += Symbol(uint8_t(c));
    seen_++;
    if (is_marker && found_.front().end <= seen_) {
      symbols += found_.front().symbol;
      found_.pop_front();
    }
    add_due(symbols);
  }
  return symbols;
}

Symbols TokenMarks::finish() {
  Symbols symbols;
  for (; !found_.empty() && found_.front().begin <= seen_; found_.pop_front()) {
    const Found& found = found_.front();
    if (found.end <= seen_) {
      symbols += found.symbol;
      continue;
    }
    // The text ends within the marker.
    const Mark& mark = format_->marks[found.symbol - kFirstMark];
    symbols += symbols_of(std::string_view(mark.spelling).substr(0, seen_ - found.begin));
  }
  return symbols;
}

}  // namespace wick::answers
