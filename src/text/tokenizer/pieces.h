// A text on its way to tokens: cut into pieces, and rewritten, without losing where it came from.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::tokenizer {

/// Bytes [begin, end).
struct Span {
  uint32_t begin = 0, end = 0;
};

struct Piece {
  uint32_t begin, end;  // in Pieces::text
  int32_t id = -1;      // an added token; -1: text
  uint32_t source = 0;  // where the piece starts in the input
};

/// Pieces in the order of the input; together they need not be all of the text.
struct Pieces {
  std::string text;
  std::vector<Piece> pieces;
  /// By byte of `text`: the bytes of the input that it came from, whole characters. Empty if the
  /// caller does not ask for offsets.
  std::vector<Span> origins;
  bool tracks = false;

  std::string_view of(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  /// The bytes of the input that bytes [begin, end) of the text came from.
  Span origin(uint32_t begin, uint32_t end) const {
    return {origins[begin].begin, origins[end - 1].end};
  }
};

/// The input as one piece of valid UTF-8.
Pieces pieces_of(std::string text, bool tracks);

/// Replaces the text pieces by parts of them. cut(text, parts) appends spans relative to the piece.
template <class Cut>
void split_pieces(Pieces& all, const Cut& cut) {
  std::vector<Piece> pieces;
  pieces.reserve(all.pieces.size());
  std::vector<Span> parts;
  for (const Piece& piece : all.pieces) {
    if (piece.id >= 0) {
      pieces.push_back(piece);
      continue;
    }
    parts.clear();
    cut(all.of(piece), parts);
    for (const Span& part : parts) {
      if (part.begin == part.end) continue;
      Piece cut_out{piece.begin + part.begin, piece.begin + part.end, -1, piece.source};
      if (all.tracks) cut_out.source = all.origins[cut_out.begin].begin;
      pieces.push_back(cut_out);
    }
  }
  all.pieces = std::move(pieces);
}

}  // namespace wick::tokenizer
