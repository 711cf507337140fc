#include "text/tokenizer/bpe.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/characters.h"

namespace wick::tokenization {

namespace {

bool has(const std::vector<bool>* tokens, int32_t id) {
  return tokens && id >= 0 && size_t(id) < tokens->size() && (*tokens)[size_t(id)];
}

}  // namespace

WordCache::WordCache() : slots_(kSlots) {}

bool WordCache::find(std::string_view word, size_t hash, std::vector<Token>& to) const {
  const Slot& slot = slots_[hash % kSlots];
  if (slot.bytes != word.size() || std::memcmp(slot.word.data(), word.data(), word.size()) != 0)
    return false;
  uint32_t begin = 0;
  for (size_t i = 0; i < slot.tokens; i++) {
    to.push_back({slot.ids[i], begin, slot.ends[i]});
    begin = slot.ends[i];
  }
  return true;
}

void WordCache::keep(std::string_view word, size_t hash, const Token* tokens, size_t count) {
  if (word.size() > kBytes || count > kTokens) return;
  for (size_t i = 0; i < count; i++)
    if (tokens[i].begin != (i == 0 ? 0 : tokens[i - 1].end)) return;
  Slot& slot = slots_[hash % kSlots];
  slot.bytes = uint8_t(word.size());
  slot.tokens = uint8_t(count);
  std::memcpy(slot.word.data(), word.data(), word.size());
  for (size_t i = 0; i < count; i++) {
    slot.ids[i] = tokens[i].id;
    slot.ends[i] = uint8_t(tokens[i].end);
  }
}

void Bpe::look_for_cuts() {
  const bool drops_characters =
      unknown < 0 && std::find(byte_tokens.begin(), byte_tokens.end(), -1) != byte_tokens.end();
  cuts_at_marks = !byte_letters && !ignore_merges && prefix.empty() && suffix.empty() &&
                  !drops_characters && vocabulary.find(kSpaceMark) >= 0;
  if (!cuts_at_marks) return;
  merges.each([&](int32_t left, int32_t right) {
    if (vocabulary.text(right).starts_with(kSpaceMark) && !vocabulary.text(left).empty())
      joins_mark.set(uint8_t(vocabulary.text(left).back()));
  });
}

void Bpe::encode(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                 const std::vector<bool>* without) const {
  if (!cuts_at_marks) return encode_part(word, workspace, to, without);
  const auto encode_range = [&](size_t begin, size_t end) {
    const size_t before = to.size();
    encode_part(word.substr(begin, end - begin), workspace, to, without);
    for (size_t i = before; i < to.size(); i++) {
      to[i].begin += uint32_t(begin);
      to[i].end += uint32_t(begin);
    }
  };
  size_t begin = 0;
  for (size_t mark = 0; (mark = word.find(kSpaceMark, mark)) != word.npos;
       mark += kSpaceMark.size()) {
    if (mark == begin || joins_mark[uint8_t(word[mark - 1])]) continue;
    encode_range(begin, mark);
    begin = mark;
  }
  encode_range(begin, word.size());
}

void Bpe::encode_part(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                      const std::vector<bool>* without) const {
  if (word.empty()) return;
  if (without) return encode_anew(word, workspace, to, without);
  const size_t hash = std::hash<std::string_view>()(word);
  if (workspace.cache.find(word, hash, to)) return;
  const size_t before = to.size();
  encode_anew(word, workspace, to, nullptr);
  workspace.cache.keep(word, hash, to.data() + before, to.size() - before);
}

void Bpe::encode_anew(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                      const std::vector<bool>* without) const {
  if (ignore_merges || (whole_newlines && word.find_first_not_of('\n') == word.npos)) {
    const int32_t id = vocabulary.find(byte_letters ? to_letters(word) : word);
    if (id >= 0 && id < token_count && !has(without, id))
      return to.push_back({id, 0, uint32_t(word.size())});
  }
  const bool drops =
      byte_letters && unknown < 0 &&
      std::any_of(word.begin(), word.end(), [&](char c) { return letters[uint8_t(c)] < 0; });
  if (drops) return encode_spelled(word, workspace, to, without);
  start(word, byte_letters, without, workspace.symbols);
  merge(workspace, without);
  add_tokens(workspace.symbols, to);
}

/// Encodes the word as its letters, which HuggingFace's offsets count: after a dropped letter they
/// are off by its bytes.
void Bpe::encode_spelled(std::string_view word, Workspace& workspace, std::vector<Token>& to,
                         const std::vector<bool>* without) const {
  std::vector<uint32_t> bytes;  // by byte of the letters: the byte that it spells
  for (uint32_t i = 0; i < word.size(); i++)
    bytes.insert(bytes.end(), letter_of(uint8_t(word[i])).size(), i);
  const size_t before = to.size();
  start(to_letters(word), false, without, workspace.symbols);
  merge(workspace, without);
  add_tokens(workspace.symbols, to);
  for (size_t i = before; i < to.size(); i++) {
    to[i].begin = bytes[to[i].begin];
    to[i].end = bytes[to[i].end - 1] + 1;
  }
}

void Bpe::add_tokens(const std::vector<Symbol>& symbols, std::vector<Token>& to) const {
  uint32_t begin = 0;
  for (const Symbol& symbol : symbols) {
    const uint32_t end = begin + symbol.length;
    if (begin == end) continue;
    if (symbol.id < token_count) {
      to.push_back({symbol.id, begin, end});
    } else {
      for (const int32_t id : spelled[size_t(symbol.id - token_count)])
        to.push_back({id, begin, end});
    }
    begin = end;
  }
}

/// The characters of the word, or its bytes, as symbols. Characters that are dropped leave no gap:
/// the following ones move up, as in HuggingFace's offsets.
void Bpe::start(std::string_view word, bool is_bytes, const std::vector<bool>* without,
                std::vector<Symbol>& symbols) const {
  symbols.clear();
  const auto add = [&](int32_t id, uint32_t length) {
    symbols.push_back({id, length, int32_t(symbols.size()) - 1, int32_t(symbols.size()) + 1});
  };
  uint32_t unknown_length = 0;  // of unknown characters that wait, as the next may join them
  const auto add_unknown = [&] {
    if (unknown_length > 0) add(unknown, unknown_length);
    unknown_length = 0;
  };
  std::string affixed;
  for (size_t at = 0, end; at < word.size(); at = end) {
    end = at + (is_bytes ? 1 : character_length(word[at]));
    const uint32_t length = uint32_t(end - at);
    std::string_view spelling = word.substr(at, length);
    const bool with_prefix = at > 0 && !prefix.empty();
    const bool with_suffix = end == word.size() && !suffix.empty();
    int32_t id;
    if (is_bytes && !with_prefix && !with_suffix) {
      id = letters[uint8_t(word[at])];
    } else {
      if (is_bytes) spelling = letter_of(uint8_t(word[at]));
      if (with_prefix || with_suffix) {
        affixed = (with_prefix ? prefix : "") + std::string(spelling) + (with_suffix ? suffix : "");
        spelling = affixed;
      }
      id = vocabulary.find(spelling);
      if (has(without, id)) id = -1;
    }
    if (id >= 0) {
      add_unknown();
      add(id, length);
    } else if (std::all_of(spelling.begin(), spelling.end(),
                           [&](char byte) { return byte_tokens[uint8_t(byte)] >= 0; })) {
      // As in HuggingFace, bytes come before an unknown character that waits.
      for (const char byte : spelling) add(byte_tokens[uint8_t(byte)], 1);
    } else if (unknown >= 0) {
      if (!fuse_unknown) add_unknown();
      unknown_length += length;
    }
  }
  add_unknown();
  if (!symbols.empty()) symbols.back().next = -1;
}

/// Merges the pair of the lowest rank, of several the leftmost, until no pair merges. Each entry of
/// the heap is a rank and the left symbol of a pair; it is stale if that symbol's pair has another
/// rank by now.
void Bpe::merge(Workspace& workspace, const std::vector<bool>* without) const {
  std::vector<Symbol>& symbols = workspace.symbols;
  std::vector<uint64_t>& heap = workspace.heap;
  heap.clear();
  const auto push = [&](int32_t left) {
    const int32_t right = symbols[size_t(left)].next;
    const Merge merge = merges.find(symbols[size_t(left)].id, symbols[size_t(right)].id);
    if (merge.id < 0 || has(without, merge.id)) return false;
    heap.push_back(uint64_t(merge.rank) << 32 | uint32_t(left));
    return true;
  };
  for (size_t i = 0; i + 1 < symbols.size(); i++) push(int32_t(i));
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    const uint64_t top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const int32_t at = int32_t(uint32_t(top));
    Symbol& left = symbols[size_t(at)];
    if (left.length == 0 || left.next < 0) continue;
    Symbol& right = symbols[size_t(left.next)];
    const Merge merge = merges.find(left.id, right.id);
    if (merge.id < 0 || merge.rank != uint32_t(top >> 32)) continue;
    left.id = merge.id;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next >= 0) {
      symbols[size_t(left.next)].previous = at;
      if (push(at)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    if (left.previous >= 0 && push(left.previous))
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
}

}  // namespace wick::tokenization
