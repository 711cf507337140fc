#include "text/tokenizer/vocabulary.h"

#include <bit>
#include <functional>

namespace wick::tokenization {

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  texts_.reserve(bytes);
  ends_.reserve(tokens);
  table_.assign(std::bit_ceil(2 * tokens + 2), -1);
}

bool Vocabulary::add(std::string_view text) {
  if (2 * (used_ + 1) > table_.size()) grow();
  texts_ += text;
  ends_.push_back(texts_.size());
  if (text.empty()) return true;
  int32_t& entry = table_[slot_of(text)];
  if (entry >= 0) return false;
  entry = size() - 1;
  used_++;
  return true;
}

int32_t Vocabulary::find(std::string_view text) const {
  return table_.empty() || text.empty() ? -1 : table_[slot_of(text)];
}

size_t Vocabulary::slot_of(std::string_view text) const {
  size_t at = std::hash<std::string_view>()(text);
  while (true) {
    at &= table_.size() - 1;
    if (table_[at] < 0 || this->text(table_[at]) == text) return at;
    at++;
  }
}

void Vocabulary::grow() {
  const std::vector<int32_t> old = std::move(table_);
  table_.assign(std::max<size_t>(16, 2 * old.size()), -1);
  for (const int32_t id : old)
    if (id >= 0) table_[slot_of(text(id))] = id;
}

void Merges::reserve(size_t pairs) {
  const size_t size = std::bit_ceil(2 * pairs + 2);
  if (size <= table_.size()) return;
  const std::vector<Entry> old = std::move(table_);
  table_.assign(size, Entry());
  shift_ = 64 - std::countr_zero(size);
  used_ = 0;
  for (const Entry& entry : old)
    if (entry.pair != kFree)
      of(int32_t(entry.pair >> 32), int32_t(uint32_t(entry.pair))) = entry.merge;
}

Merge& Merges::of(int32_t left, int32_t right) {
  reserve(used_ + 1);
  const uint64_t pair = pack(left, right);
  size_t at = hash(pair);
  while (table_[at].pair != pair) {
    if (table_[at].pair == kFree) {
      table_[at].pair = pair;
      used_++;
      break;
    }
    at = (at + 1) & (table_.size() - 1);
  }
  return table_[at].merge;
}

}  // namespace wick::tokenization
