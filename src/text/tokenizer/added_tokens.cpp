#include "text/tokenizer/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer/characters.h"

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

/// isspace() of C.
bool is_ascii_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

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

/// The byte after the white space that starts at `at`.
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

void AddedTokens::split(Pieces& all, bool special, const UserText& user) const {
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
    const Search search{all, piece, special, user};
    uint32_t at = 0;
    for (const Match& match : order_ == Order::kLeftmost ? leftmost(search) : longest(search)) {
      add(at, match.begin, -1);
      add(match.begin, match.end, match.id);
      at = match.end;
    }
    add(at, piece.end - piece.begin, -1);
  }
  all.pieces = std::move(pieces);
}

std::vector<AddedTokens::Match> AddedTokens::leftmost(const Search& search) const {
  const std::string_view text = search.text();
  std::vector<Match> matches;
  size_t taken = 0;  // up to where matches took the text
  for (size_t begin = 0, next; begin < text.size(); begin = next) {
    next = begin + 1;
    size_t end = 0;
    int32_t index = -1;
    trie_.walk(text.substr(begin), [&](size_t length, int32_t value) {
      if (search.is_users(tokens_[size_t(value)], begin, begin + length)) return;
      end = begin + length;
      index = value;
    });
    if (index < 0) continue;
    next = end;  // also after a match that is not taken
    const AddedToken& token = tokens_[size_t(index)];
    if (token.special && !search.special) continue;
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

std::vector<AddedTokens::Match> AddedTokens::longest(const Search& search) const {
  const std::string_view text = search.text();
  std::vector<Match> matches;
  // Tokens that overlap compete in the area that they cover; areas are independent of each other.
  Span area;
  std::vector<int32_t> competing;
  std::vector<size_t> met;  // by token: where the area starts in which it competes, plus one
  const auto end_area = [&] {
    if (!competing.empty()) choose(search, area, competing, matches);
    competing.clear();
  };
  size_t spaces_end = 0;  // of the last run of spaces that was met
  for (size_t begin = 0; begin < text.size(); begin++)
    trie_.walk(text.substr(begin), [&](size_t length, int32_t index) {
      const AddedToken& token = tokens_[size_t(index)];
      if (token.special && !search.special) return;
      if (search.is_users(token, begin, begin + length)) return;
      size_t end = begin + length;
      if (token.right_strip) {
        if (end > spaces_end || !is_ascii_space(text[end - 1])) spaces_end = end;
        while (spaces_end < text.size() && is_ascii_space(text[spaces_end])) spaces_end++;
        end = spaces_end;
      }
      if (begin >= area.end) {
        end_area();
        area = {uint32_t(begin), uint32_t(end)};
      }
      area.end = std::max(area.end, uint32_t(end));
      met.resize(tokens_.size());
      if (met[size_t(index)] == area.begin + size_t(1)) return;
      met[size_t(index)] = area.begin + size_t(1);
      competing.push_back(index);
    });
  end_area();
  return matches;
}

/// Takes the tokens out of the area one after the other, the longest first.
void AddedTokens::choose(const Search& search, Span area, std::vector<int32_t>& competing,
                         std::vector<Match>& matches) const {
  const std::string_view text = search.text();
  std::sort(competing.begin(), competing.end(), [&](int32_t lhs, int32_t rhs) {
    const size_t lhs_size = tokens_[size_t(lhs)].text.size();
    const size_t rhs_size = tokens_[size_t(rhs)].text.size();
    return lhs_size != rhs_size ? lhs_size > rhs_size : lhs < rhs;
  });
  const size_t before = matches.size();
  std::vector<Span> rest = {area}, left;
  for (const int32_t index : competing) {
    const AddedToken& token = tokens_[size_t(index)];
    left.clear();
    for (const Span& part : rest) {
      const std::string_view within = text.substr(0, part.end);
      size_t at = part.begin, from = at;
      for (size_t found; (found = within.find(token.text, from)) != within.npos; from = at) {
        while (found != within.npos && search.is_users(token, found, found + token.text.size()))
          found = within.find(token.text, found + 1);
        if (found == within.npos) break;
        if (at < found) left.push_back({uint32_t(at), uint32_t(found)});
        at = found + token.text.size();
        while (token.right_strip && at < part.end && is_ascii_space(text[at])) at++;
        matches.push_back({uint32_t(found), uint32_t(at), token.id});
      }
      if (at < part.end) left.push_back({uint32_t(at), part.end});
    }
    std::swap(rest, left);
  }
  std::sort(matches.begin() + ptrdiff_t(before), matches.end(),
            [](const Match& lhs, const Match& rhs) { return lhs.begin < rhs.begin; });
}

}  // namespace wick::tokenization
