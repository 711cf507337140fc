// Tokens of a SentencePiece model of type unigram, as the library of that name gives them.
#pragma once
#include <memory>
#include <string>

#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/pieces.h"
#include "text/tokenizer/sentencepiece_model.h"
#include "text/tokenizer/unigram.h"
#include "text/tokenizer/vocabulary.h"

namespace wick::tokenization {

/// Normalizes each piece as the model's file says, with a text before it: `before` is normalized
/// with the piece. A piece of which only the space mark is left disappears if another one follows.
/// Errors: kFormat for bad rules.
std::unique_ptr<Step> normalize_pieces(const SentencePieceModel& model, std::string before,
                                       const std::string& where);

/// The model's tokens by id. Errors: as of Unigram::add.
Unigram unigram_of(const SentencePieceModel& model, const Vocabulary& vocabulary,
                   const std::string& where);

}  // namespace wick::tokenization
