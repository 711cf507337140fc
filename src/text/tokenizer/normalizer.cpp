#include "text/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/characters.h"

namespace wick::tokenization {
namespace {

struct Range {
  char32_t first, last;
};

// Marks and characters with a decomposition that are newer than Unicode 9. Source: Unicode 16.0.0,
// DerivedAge and DerivedGeneralCategory.
constexpr Range kNewer[] = {
    // clang-format off
    {0x7fd, 0x7fd}, {0x897, 0x89f}, {0x8ca, 0x8d3}, {0x9fe, 0x9fe}, {0xafa, 0xaff},
    {0xb55, 0xb55}, {0xc04, 0xc04}, {0xc3c, 0xc3c}, {0xcf3, 0xcf3}, {0xd00, 0xd00},
    {0xd3b, 0xd3c}, {0xd81, 0xd81}, {0xeba, 0xeba}, {0xece, 0xece}, {0x1715, 0x1715},
    {0x180f, 0x180f}, {0x1abf, 0x1ace}, {0x1cf7, 0x1cf7}, {0x1df6, 0x1dfa}, {0x32ff, 0x32ff},
    {0xa7f2, 0xa7f4}, {0xa82c, 0xa82c}, {0xa8ff, 0xa8ff}, {0xab69, 0xab69}, {0x10781, 0x10785},
    {0x10787, 0x107b0}, {0x107b2, 0x107ba}, {0x10d24, 0x10d27}, {0x10d69, 0x10d6d},
    {0x10eab, 0x10eac}, {0x10efc, 0x10eff}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85},
    {0x11070, 0x11070}, {0x11073, 0x11074}, {0x110c2, 0x110c2}, {0x11145, 0x11146},
    {0x111c9, 0x111c9}, {0x111ce, 0x111cf}, {0x11241, 0x11241}, {0x1133b, 0x1133b},
    {0x113b8, 0x113c0}, {0x113c2, 0x113c2}, {0x113c5, 0x113c5}, {0x113c7, 0x113ca},
    {0x113cc, 0x113d0}, {0x113d2, 0x113d2}, {0x113e1, 0x113e2}, {0x1145e, 0x1145e},
    {0x1182c, 0x1183a}, {0x11930, 0x11935}, {0x11937, 0x11938}, {0x1193b, 0x1193e},
    {0x11940, 0x11940}, {0x11942, 0x11943}, {0x119d1, 0x119d7}, {0x119da, 0x119e0},
    {0x119e4, 0x119e4}, {0x11a01, 0x11a0a}, {0x11a33, 0x11a39}, {0x11a3b, 0x11a3e},
    {0x11a47, 0x11a47}, {0x11a51, 0x11a5b}, {0x11a8a, 0x11a99}, {0x11d31, 0x11d36},
    {0x11d3a, 0x11d3a}, {0x11d3c, 0x11d3d}, {0x11d3f, 0x11d45}, {0x11d47, 0x11d47},
    {0x11d8a, 0x11d8e}, {0x11d90, 0x11d91}, {0x11d93, 0x11d97}, {0x11ef3, 0x11ef6},
    {0x11f00, 0x11f01}, {0x11f03, 0x11f03}, {0x11f34, 0x11f3a}, {0x11f3e, 0x11f42},
    {0x11f5a, 0x11f5a}, {0x13440, 0x13440}, {0x13447, 0x13455}, {0x1611e, 0x1612f},
    {0x16f4f, 0x16f4f}, {0x16f7f, 0x16f87}, {0x16fe4, 0x16fe4}, {0x16ff0, 0x16ff1},
    {0x1cf00, 0x1cf2d}, {0x1cf30, 0x1cf46}, {0x1e030, 0x1e06d}, {0x1e08f, 0x1e08f},
    {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef},
    {0x1e5ee, 0x1e5ef}, {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9},
    // clang-format on
};

bool is_newer(char32_t code) {
  const Range* const range =
      std::upper_bound(std::begin(kNewer), std::end(kNewer), code,
                       [](char32_t value, const Range& entry) { return value < entry.first; });
  return range != std::begin(kNewer) && code <= range[-1].last;
}

bool is_mark(char32_t code) {
  if (is_newer(code)) return false;
  const utf8proc_category_t category = utf8proc_category(utf8proc_int32_t(code));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME || code == 0x1cf2 || code == 0x1cf3;  // once marks
}

/// A character of the normalized text, and how it relates to the old text: 1 is added to it, 0
/// stands for one old character, -n stands for one and the n after it.
struct Change {
  char32_t code;
  int change;
};

uint8_t combining_class(char32_t code) {
  if (code < 0x300 || is_newer(code)) return 0;
  return uint8_t(utf8proc_get_property(utf8proc_int32_t(code))->combining_class);
}

/// Unicode's decomposition with canonical order. A change moves with its character.
std::vector<Change> decompose(std::string_view text, bool compatible) {
  struct Marked {
    Change change;
    uint8_t order;
  };
  std::vector<Change> result;
  result.reserve(text.size());
  std::vector<Marked> pending;  // a starter and the marks after it
  const auto flush = [&] {
    std::stable_sort(pending.begin(), pending.end(),
                     [](const Marked& lhs, const Marked& rhs) { return lhs.order < rhs.order; });
    for (const Marked& marked : pending) result.push_back(marked.change);
    pending.clear();
  };
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  std::array<utf8proc_int32_t, 32> parts;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_code_point(text, at);
    utf8proc_ssize_t count = 1;
    parts[0] = utf8proc_int32_t(code);
    if (code >= 0x80 && !is_newer(code)) {
      int boundary;
      count = utf8proc_decompose_char(utf8proc_int32_t(code), parts.data(), parts.size(),
                                      utf8proc_option_t(options), &boundary);
    }
    for (utf8proc_ssize_t i = 0; i < count; i++) {
      const char32_t part = char32_t(parts[size_t(i)]);
      const uint8_t order = combining_class(part);
      if (order == 0) flush();
      pending.push_back({{part, i == 0 ? 0 : 1}, order});
    }
  }
  flush();
  return result;
}

/// The primary composite of two characters; 0 if they do not compose.
char32_t composed(char32_t left, char32_t right) {
  if (right < 0x300 || is_newer(left) || is_newer(right)) return 0;
  std::array<utf8proc_int32_t, 3> pair = {utf8proc_int32_t(left), utf8proc_int32_t(right), 0};
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(
      pair.data(), 2, utf8proc_option_t(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  return length == 1 && !is_newer(char32_t(pair[0])) ? char32_t(pair[0]) : 0;
}

/// Unicode's canonical composition of decomposed text.
std::vector<Change> compose(const std::vector<Change>& parts) {
  std::vector<Change> result;
  result.reserve(parts.size());
  size_t starter = 0;  // in the result
  bool has_starter = false;
  uint8_t last = 0;  // the class of the last character kept after the starter, or 0
  for (const Change& part : parts) {
    const uint8_t order = combining_class(part.code);
    if (has_starter && (last == 0 || last < order)) {
      if (const char32_t whole = composed(result[starter].code, part.code)) {
        result[starter] = {whole, result[starter].change + part.change - 1};
        continue;
      }
    }
    if (order == 0) {
      starter = result.size();
      has_starter = true;
    }
    last = order;
    result.push_back(part);
  }
  return result;
}

/// Writes the changed text of a piece.
void write(Editor& editor, const std::vector<Change>& changes) {
  const std::string_view old = editor.text();
  size_t at = 0;
  std::string character;
  for (const Change& change : changes) {
    character.clear();
    append_code_point(character, change.code);
    if (change.change > 0) {
      editor.insert(character);
      continue;
    }
    editor.replace(character);
    const size_t before = at;
    for (int i = 0; i <= -change.change && at < old.size(); i++) at += character_length(old[at]);
    editor.skip(at - before);
  }
}

class NormalizeTo : public Step {
 public:
  explicit NormalizeTo(Form form) : form_(form) {}
  void apply(Pieces& all) const override {
    // Characters below are their own normal form, and compose with no character before them.
    const char32_t first_that_changes = form_ == Form::kNfc ? 0x300 : 0x80;
    const auto changes = [&](std::string_view text) {
      for (size_t at = 0; at < text.size();)
        if (next_code_point(text, at) >= first_that_changes) return true;
      return false;
    };
    if (!changes(all.text)) return;
    rewrite_pieces(all, [&](Editor& editor) {
      if (!changes(editor.text())) return editor.keep(editor.text().size());
      const bool compatible = form_ == Form::kNfkc || form_ == Form::kNfkd;
      std::vector<Change> parts = decompose(editor.text(), compatible);
      write(editor, form_ == Form::kNfc || form_ == Form::kNfkc ? compose(parts) : parts);
    });
  }

 private:
  Form form_;
};

/// The lower case of capital letters that are newer than utf8proc 2.8. Source: Unicode 17.0.0,
/// UnicodeData.
char32_t newer_lower(char32_t code) {
  if (code >= 0x10d50 && code <= 0x10d65) return code + 0x20;
  if (code >= 0x16ea0 && code <= 0x16eb8) return code + 0x1b;
  switch (code) {
    case 0x1c89:
    case 0xa7cc:
    case 0xa7ce:
    case 0xa7d2:
    case 0xa7d4:
    case 0xa7da:
      return code + 1;
    case 0xa7cb:
      return 0x264;
    case 0xa7dc:
      return 0x19b;
    default:
      return char32_t(utf8proc_tolower(utf8proc_int32_t(code)));
  }
}

class Lowercase : public Step {
 public:
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [](Editor& editor) {
      const std::string_view text = editor.text();
      std::vector<Change> changes;
      changes.reserve(text.size());
      for (size_t at = 0; at < text.size();) {
        const char32_t code = next_code_point(text, at);
        if (code == 0x130) {
          changes.push_back({'i', 0});
          changes.push_back({0x307, 1});
        } else {
          changes.push_back({newer_lower(code), 0});
        }
      }
      write(editor, changes);
    });
  }
};

class Prepend : public Step {
 public:
  explicit Prepend(std::string text) : text_(std::move(text)) {}
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [&](Editor& editor) {
      editor.replace(text_);
      editor.keep(editor.text().size());
    });
  }

 private:
  std::string text_;
};

class Replace : public Step {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(Pieces& all) const override {
    std::vector<Span> matches;
    rewrite_pieces(all, [&](Editor& editor) {
      matches.clear();
      pattern_.find(editor.text(), matches);
      uint32_t at = 0;
      for (const Span& match : matches) {
        editor.keep(match.begin - at);
        editor.skip(match.end - match.begin);
        editor.insert(content_);
        at = match.end;
      }
      editor.keep(editor.text().size() - at);
    });
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Strip : public Step {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [&](Editor& editor) {
      const std::string_view text = editor.text();
      size_t begin = text.size(), end = 0;  // from the first to the last other character
      for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        if (is_white_space(next_code_point(text, at))) continue;
        begin = std::min(begin, start);
        end = at;
      }
      if (!left_) begin = 0;
      if (!right_) end = text.size();
      if (begin >= end) return;
      editor.skip(begin);
      editor.keep(end - begin);
    });
  }

 private:
  bool left_, right_;
};

class StripAccents : public Step {
 public:
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [](Editor& editor) {
      const std::string_view text = editor.text();
      for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        if (is_mark(next_code_point(text, at)))
          editor.skip(at - start);
        else
          editor.keep(at - start);
      }
    });
  }
};

class CleanControl : public Step {
 public:
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [](Editor& editor) {
      const std::string_view text = editor.text();
      for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        const char32_t code = next_code_point(text, at);
        if (is_removed(code)) {
          editor.skip(at - start);
        } else if (is_space(code)) {
          editor.replace(" ");
          editor.skip(at - start);
        } else {
          editor.keep(at - start);
        }
      }
    });
  }

 private:
  static bool is_removed(char32_t code) {
    return (code >= 0x01 && code <= 0x08) || code == 0x0b || (code >= 0x0e && code <= 0x1f) ||
           code == 0x7f || code == 0x8f || code == 0x9f;
  }
  static bool is_space(char32_t code) {
    return code == 0x09 || code == 0x0a || code == 0x0c || code == 0x0d || code == 0x1680 ||
           (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 ||
           code == 0x2581 || code == 0xfeff || code == 0xfffd;
  }
};

/// The byte where the grapheme that starts at `begin` ends.
size_t end_of_grapheme(std::string_view text, size_t begin) {
  size_t end = begin;
  char32_t before = next_code_point(text, end);
  utf8proc_int32_t state = 0;
  for (size_t at = end; at < text.size(); end = at) {
    const char32_t code = next_code_point(text, at);
    if (utf8proc_grapheme_break_stateful(utf8proc_int32_t(before), utf8proc_int32_t(code), &state))
      break;
    before = code;
  }
  return end;
}

class MapCharacters : public Step {
 public:
  explicit MapCharacters(Charsmap rules) : rules_(std::move(rules)) {}
  void apply(Pieces& all) const override {
    constexpr size_t kMaxBytes = 5;  // of a grapheme that rules are tried on
    rewrite_pieces(all, [&](Editor& editor) {
      const std::string_view text = editor.text();
      std::vector<Change> changes;
      changes.reserve(text.size());
      for (size_t at = 0; at < text.size();) {
        const size_t end = end_of_grapheme(text, at);
        if (end - at <= kMaxBytes && map(text.substr(at, end - at), changes)) {
          at = end;
          continue;
        }
        for (size_t start = at; start < end; start = at) {
          const char32_t code = next_code_point(text, at);
          if (!map(text.substr(start, at - start), changes)) changes.push_back({code, 0});
        }
      }
      write(editor, changes);
    });
  }

 private:
  /// Whether a rule matches. Characters that it drops count with the last one of the changes.
  bool map(std::string_view part, std::vector<Change>& changes) const {
    const auto match = rules_.shortest(part);
    if (!match) return false;
    int64_t rest = count_code_points(part);  // old characters without a new one
    for (size_t at = 0; at < match->replaced.size(); rest--)
      changes.push_back({next_code_point(match->replaced, at), rest > 0 ? 0 : 1});
    if (rest > 0 && !changes.empty()) changes.back().change -= int(rest);
    return true;
  }

  Charsmap rules_;
};

class SpellBytes : public Step {
 public:
  void apply(Pieces& all) const override {
    rewrite_pieces(all, [](Editor& editor) {
      for (const char byte : editor.text()) {
        editor.replace(letter_of(uint8_t(byte)));
        editor.skip(1);
      }
    });
  }
};

}  // namespace

std::unique_ptr<Step> normalize_to(Form form) { return std::make_unique<NormalizeTo>(form); }
std::unique_ptr<Step> lowercase() { return std::make_unique<Lowercase>(); }
std::unique_ptr<Step> prepend(std::string text) {
  return std::make_unique<Prepend>(std::move(text));
}
std::unique_ptr<Step> replace(Pattern pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
std::unique_ptr<Step> strip(bool left, bool right) { return std::make_unique<Strip>(left, right); }
std::unique_ptr<Step> strip_accents() { return std::make_unique<StripAccents>(); }
std::unique_ptr<Step> clean_control() { return std::make_unique<CleanControl>(); }
std::unique_ptr<Step> map_characters(Charsmap rules) {
  return std::make_unique<MapCharacters>(std::move(rules));
}
std::unique_ptr<Step> spell_bytes() { return std::make_unique<SpellBytes>(); }

}  // namespace wick::tokenization
