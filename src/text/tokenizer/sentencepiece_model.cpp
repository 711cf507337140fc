#include "text/tokenizer/sentencepiece_model.h"

#include <cmath>
#include <unordered_set>

#include "base/utf8.h"
#include "text/tokenizer/characters.h"
#include "text/tokenizer/protobuf.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

SentencePieceModel::Piece read_piece(std::string_view bytes, const std::string& where) {
  SentencePieceModel::Piece piece;
  MessageReader reader(bytes, where);
  while (reader.next()) {
    if (reader.field() == 1) piece.text = reader.bytes();
    if (reader.field() == 2) piece.score = reader.real();
    if (reader.field() == 3) {
      const uint64_t type = reader.integer();
      check(type >= 1 && type <= 6, ErrorCode::kFormat, where, "expected a type from 1 to 6, got ",
            type);
      piece.type = SentencePieceModel::Type(type);
    }
  }
  check(!piece.text.empty() && is_utf8(piece.text), ErrorCode::kFormat, where,
        "expected a text of UTF-8, got ", in_quotes(piece.text));
  check(std::isfinite(piece.score), ErrorCode::kFormat, where, "the score of ",
        in_quotes(piece.text), " is not finite");
  return piece;
}

void read_trainer_spec(std::string_view bytes, const std::string& where,
                       SentencePieceModel& model) {
  constexpr uint64_t kUnigram = 1;
  MessageReader reader(bytes, where + ": trainer_spec");
  while (reader.next()) {
    if (reader.field() == 3)
      check(reader.integer() == kUnigram, ErrorCode::kUnsupported, where,
            "model_type: wick reads unigram models, 1, got ", reader.integer());
    if (reader.field() == 24)
      check(reader.integer() == 0, ErrorCode::kUnsupported, where,
            "wick lacks treat_whitespace_as_suffix");
    if (reader.field() == 35) model.byte_fallback = reader.integer() != 0;
  }
}

void read_normalizer_spec(std::string_view bytes, const std::string& where,
                          SentencePieceModel& model) {
  MessageReader reader(bytes, where + ": normalizer_spec");
  while (reader.next()) {
    if (reader.field() == 2) model.precompiled_charsmap = reader.bytes();
    if (reader.field() == 3) model.add_dummy_prefix = reader.integer() != 0;
    if (reader.field() == 4) model.remove_extra_whitespaces = reader.integer() != 0;
    if (reader.field() == 5) model.escape_whitespaces = reader.integer() != 0;
  }
}

}  // namespace

SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& where) {
  SentencePieceModel model;
  MessageReader reader(bytes, where);
  while (reader.next()) {
    if (reader.field() == 1)
      model.pieces.push_back(
          read_piece(reader.bytes(), where + ": piece " + std::to_string(model.pieces.size())));
    if (reader.field() == 2) read_trainer_spec(reader.bytes(), where, model);
    if (reader.field() == 3) read_normalizer_spec(reader.bytes(), where, model);
  }
  std::unordered_set<std::string_view> texts;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    check(texts.insert(piece.text).second, ErrorCode::kFormat, where, "two pieces are ",
          in_quotes(piece.text));
    if (piece.type != SentencePieceModel::Type::kUnknown) continue;
    check(model.unknown < 0, ErrorCode::kFormat, where, "two pieces have the type unknown");
    model.unknown = int(&piece - model.pieces.data());
  }
  check(model.unknown >= 0, ErrorCode::kFormat, where, "no piece has the type unknown");
  return model;
}

}  // namespace wick::tokenization
