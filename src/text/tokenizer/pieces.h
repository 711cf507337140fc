// A text on its way to tokens: cut into pieces, and rewritten, without losing where it came from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick::tokenization {

/// Bytes [begin, end).
struct Span {
  uint32_t begin = 0, end = 0;
};

/// The parts of an input that come from users: in order, apart from each other.
class UserText {
 public:
  UserText() = default;
  explicit UserText(std::vector<Span> parts) : parts_(std::move(parts)) {}
  bool empty() const { return parts_.empty(); }
  /// Whether one of these bytes of the input comes from users.
  bool touches(Span bytes) const;

 private:
  std::vector<Span> parts_;
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
  /// For each byte of `text`, the bytes of the input that it came from, whole characters. Empty if
  /// the caller does not ask for offsets.
  std::vector<Span> origins;
  bool tracks = false;

  std::string_view of(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  /// The bytes of the input that bytes [begin, end) of the text came from. Without `tracks`, the
  /// text is still the input.
  Span origin(uint32_t begin, uint32_t end) const {
    if (!tracks) return {begin, end};
    return {origins[begin].begin, origins[end - 1].end};
  }
};

/// A step that rewrites or cuts the text pieces.
class Step {
 public:
  virtual ~Step() = default;
  virtual void apply(Pieces& all) const = 0;
};

/// Errors: kInvalidArgument if a text of this size is too long for Span.
void check_size(size_t bytes);

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

/// Writes the new text of one piece, of which it reads the old text from left to right.
class Editor {
 public:
  Editor(const Pieces& all, const Piece& piece, std::string& text, std::vector<Span>& origins)
      : all_(all), piece_(piece), text_(text), origins_(origins) {}

  /// The old text.
  std::string_view text() const { return all_.of(piece_); }
  bool starts_input() const { return piece_.source == 0; }

  /// Copies bytes of the old text, with their origins.
  void keep(size_t bytes) {
    text_ += text().substr(at_, bytes);
    if (all_.tracks)
      origins_.insert(origins_.end(), all_.origins.begin() + place(at_),
                      all_.origins.begin() + place(at_ + bytes));
    at_ += bytes;
  }
  /// Passes over bytes of the old text.
  void skip(size_t bytes) { at_ += bytes; }
  /// Writes text in place of the next old bytes, with the first one's origin.
  void replace(std::string_view by) { put(by, at_, true); }
  /// Writes text, with the origin of the old byte before; without an origin at the start.
  void insert(std::string_view added) { put(added, at_ - 1, at_ > 0); }

 private:
  ptrdiff_t place(size_t at) const { return ptrdiff_t(piece_.begin + at); }
  void put(std::string_view added, size_t at, bool has_origin) {
    text_ += added;
    if (!all_.tracks) return;
    const Span origin =
        has_origin ? all_.origins[piece_.begin + at] : Span{piece_.source, piece_.source};
    origins_.insert(origins_.end(), added.size(), origin);
  }

  const Pieces& all_;
  const Piece& piece_;
  std::string& text_;
  std::vector<Span>& origins_;
  size_t at_ = 0;
};

/// Rewrites the text pieces: edit(editor) writes the whole new text of one.
template <class Edit>
void rewrite_pieces(Pieces& all, const Edit& edit) {
  std::string text;
  std::vector<Span> origins;
  std::vector<Piece> pieces;
  text.reserve(all.text.size() + all.text.size() / 4);
  if (all.tracks) origins.reserve(text.capacity());
  pieces.reserve(all.pieces.size());
  for (Piece piece : all.pieces) {
    const uint32_t begin = uint32_t(text.size());
    Editor editor(all, piece, text, origins);
    if (piece.id >= 0)
      editor.keep(piece.end - piece.begin);
    else
      edit(editor);
    check_size(text.size());
    piece.begin = begin;
    piece.end = uint32_t(text.size());
    if (piece.begin < piece.end) pieces.push_back(piece);
  }
  all.text = std::move(text);
  all.origins = std::move(origins);
  all.pieces = std::move(pieces);
}

}  // namespace wick::tokenization
