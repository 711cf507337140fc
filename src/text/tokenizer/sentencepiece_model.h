// A SentencePiece model, the file spiece.model.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wick::tokenization {

/// Source: SentencePiece (Apache 2.0), sentencepiece_model.proto: the names, numbers and defaults.
struct SentencePieceModel {
  enum class Type { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::kNormal;
  };

  std::vector<Piece> pieces;  // by id; texts are UTF-8, not empty, and differ
  int unknown = -1;           // the only piece of type kUnknown
  bool byte_fallback = false;
  std::string precompiled_charsmap;  // "": no rules
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

/// Errors, beginning with `where`: kFormat; kUnsupported for a model that is not of type unigram,
/// or marks white space as suffixes.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& where);

}  // namespace wick::tokenization
