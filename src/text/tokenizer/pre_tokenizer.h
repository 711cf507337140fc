// Pre-tokenizers: cut a text into the words that the model sees.
#pragma once
#include <memory>
#include <vector>

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/pieces.h"

namespace wick::tokenizer {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& all) const = 0;
};

/// What becomes of the matches of a pattern, with "the-final--countdown" split on "-".
enum class Behavior {
  kRemoved,             // the|final|countdown
  kIsolated,            // the|-|final|-|-|countdown
  kMergedWithPrevious,  // the-|final-|-|countdown
  kMergedWithNext,      // the|-final|-|-countdown
  kContiguous,          // the|-|final|--|countdown
};

/// Splits at the matches, or, inverted, at the text between them.
std::unique_ptr<PreTokenizer> split_at(Pattern pattern, Behavior behavior, bool invert = false);

}  // namespace wick::tokenizer
