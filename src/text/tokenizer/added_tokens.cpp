#include "text/tokenizer/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/tokenizer/utf8.h"

namespace wick::tokenization {
namespace {

/// \w of Unicode's regular expressions (UTS 18, Annex C): Alphabetic, Mark, Decimal_Number,
/// Connector_Punctuation and Join_Control.
bool is_word(char32_t code) {
  const auto is_enclosed_letter = [&] {  // the symbols that are Alphabetic
    return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
           (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
  };
  switch (utf8proc_category(utf8proc_int32_t(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return is_enclosed_letter() || code == 0x200c || code == 0x200d;
  }
}

/// The byte where the character that ends at byte `end` starts.
size_t start_of_last(std::string_view text, size_t end) {
  do end--;
  while (!starts_character(text[end]));
  return end;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t at = start_of_last(text, text.size());
  return is_word(next_code_point(text, at));
}

bool starts_with_word(std::string_view text) {
  size_t at = 0;
  return !text.empty() && is_word(next_code_point(text, at));
}

/// The byte behind the white space that starts at `at`.
size_t skip_white_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    if (!is_white_space(next_code_point(text, next))) break;
    at = next;
  }
  return at;
}

/// The byte where the white space that ends at `end` starts, but not before `least`.
size_t skip_white_space_back(std::string_view text, size_t end, size_t least) {
  while (end > least) {
    const size_t start = start_of_last(text, end);
    size_t at = start;
    if (!is_white_space(next_code_point(text, at))) break;
    end = start;
  }
  return std::max(end, least);
}

}  // namespace

void Trie::add(std::string_view text, int32_t value) {
  if (text.empty()) return;
  if (nodes_.empty()) nodes_.push_back(-1);
  const auto child = [&](int32_t& place) {
    if (place == 0) {
      place = int32_t(nodes_.size());
      nodes_.push_back(-1);
    }
    return place;
  };
  int32_t node = child(first_[uint8_t(text[0])]);
  for (size_t at = 1; at < text.size(); at++)
    node = child(edges_[uint64_t(node) << 8 | uint8_t(text[at])]);
  nodes_[size_t(node)] = value;
}

void AddedTokens::add(AddedToken token) {
  trie_.add(token.text, int32_t(tokens_.size()));
  tokens_.push_back(std::move(token));
}

void AddedTokens::split(Pieces& all, bool special) const {
  if (empty()) return;
  std::vector<Piece> pieces;
  for (const Piece& piece : all.pieces) {
    if (piece.id >= 0) {
      pieces.push_back(piece);
      continue;
    }
    const auto add = [&](uint32_t begin, uint32_t end, int32_t id) {
      if (begin >= end) return;
      Piece part{piece.begin + begin, piece.begin + end, id, piece.source};
      if (all.tracks) part.source = all.origins[part.begin].begin;
      pieces.push_back(part);
    };
    const std::string_view text = all.of(piece);
    uint32_t at = 0;
    for (const Match& match :
         order_ == Order::kLeftmost ? leftmost(text, special) : longest(text, special)) {
      add(at, match.begin, -1);
      add(match.begin, match.end, match.id);
      at = match.end;
    }
    add(at, piece.end - piece.begin, -1);
  }
  all.pieces = std::move(pieces);
}

std::vector<AddedTokens::Match> AddedTokens::leftmost(std::string_view text, bool special) const {
  std::vector<Match> matches;
  size_t taken = 0;  // up to where matches took the text
  for (size_t begin = 0, next; begin < text.size(); begin = next) {
    next = begin + 1;
    size_t end = 0;
    int32_t index = -1;
    trie_.walk(text.substr(begin), [&](size_t length, int32_t value) {
      end = begin + length;
      index = value;
    });
    if (index < 0) continue;
    next = end;  // also behind a match that is not taken
    const AddedToken& token = tokens_[size_t(index)];
    if (token.special && !special) continue;
    if (token.single_word &&
        (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
      continue;
    size_t from = begin;
    if (token.left_strip)
      from = std::max(taken, skip_white_space_back(text, begin, std::min(taken, begin)));
    if (token.right_strip) end = skip_white_space(text, end);
    matches.push_back({uint32_t(from), uint32_t(end), token.id});
    taken = end;
  }
  return matches;
}

std::vector<AddedTokens::Match> AddedTokens::longest(std::string_view text, bool special) const {
  struct Candidate {
    uint32_t begin;
    int32_t index;
  };
  std::vector<Candidate> candidates;
  for (size_t begin = 0; begin < text.size(); begin++)
    trie_.walk(text.substr(begin), [&](size_t, int32_t index) {
      if (special || !tokens_[size_t(index)].special)
        candidates.push_back({uint32_t(begin), index});
    });
  if (candidates.empty()) return {};
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& lhs, const Candidate& rhs) {
                     const size_t lhs_length = tokens_[size_t(lhs.index)].text.size();
                     const size_t rhs_length = tokens_[size_t(rhs.index)].text.size();
                     if (lhs_length != rhs_length) return lhs_length > rhs_length;
                     return lhs.index < rhs.index;
                   });
  std::vector<bool> taken(text.size());
  std::vector<Match> matches;
  for (const Candidate& candidate : candidates) {
    const AddedToken& token = tokens_[size_t(candidate.index)];
    size_t begin = candidate.begin, end = begin + token.text.size();
    if (std::any_of(taken.begin() + ptrdiff_t(begin), taken.begin() + ptrdiff_t(end),
                    [](bool is) { return is; }))
      continue;
    const auto is_space = [&](size_t at) {  // isspace() of C
      return !taken[at] && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'));
    };
    if (token.left_strip)
      while (begin > 0 && is_space(begin - 1)) begin--;
    if (token.right_strip)
      while (end < text.size() && is_space(end)) end++;
    std::fill(taken.begin() + ptrdiff_t(begin), taken.begin() + ptrdiff_t(end), true);
    matches.push_back({uint32_t(begin), uint32_t(end), token.id});
  }
  std::sort(matches.begin(), matches.end(),
            [](const Match& lhs, const Match& rhs) { return lhs.begin < rhs.begin; });
  return matches;
}

}  // namespace wick::tokenization
