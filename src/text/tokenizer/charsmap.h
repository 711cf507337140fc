// SentencePiece's compiled rules of normalization: texts and the texts that replace them.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick::tokenization {

/// Blob: u32 little-endian, the bytes of a double array; the array, units of u32 little-endian; the
/// replacements, each ended by a zero byte. The array is a trie of bytes whose values are places in
/// the replacements.
/// Source: SentencePiece (Apache 2.0), normalizer; Darts-clone (BSD), units of its double array.
class Charsmap {
 public:
  struct Match {
    size_t bytes;               // of the text that is replaced
    std::string_view replaced;  // lives as long as the map
  };

  /// where: the beginning of errors. Errors: kFormat if the parts do not fit the blob, or the
  /// replacements are not UTF-8.
  Charsmap(std::string_view blob, std::string where);

  /// The longest rule that the text starts with. Errors: kFormat if the replacement lies outside
  /// the blob, begins within a character or exceeds 1024 bytes.
  std::optional<Match> longest(std::string_view text) const { return find(text, false); }
  /// The shortest one. Errors: as longest.
  std::optional<Match> shortest(std::string_view text) const { return find(text, true); }

 private:
  std::optional<Match> find(std::string_view text, bool first) const;
  std::string_view replacement(size_t at) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::string where_;
};

}  // namespace wick::tokenization
