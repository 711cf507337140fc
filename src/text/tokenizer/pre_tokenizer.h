// Pre-tokenizers: cut a text into the words that the model sees.
#pragma once
#include <memory>
#include <vector>

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/pieces.h"

namespace wick::tokenization {

/// The fate of a pattern's matches, shown for "the-final--countdown" split on "-".
enum class Behavior {
  kRemoved,             // the|final|countdown
  kIsolated,            // the|-|final|-|-|countdown
  kMergedWithPrevious,  // the-|final-|-|countdown
  kMergedWithNext,      // the|-final|-|-countdown
  kContiguous,          // the|-|final|--|countdown
};

/// Splits at the matches, or, inverted, at the text between them.
std::unique_ptr<Step> split_at(Pattern pattern, Behavior behavior, bool invert = false);

/// Puts a space before each piece that does not start with one.
std::unique_ptr<Step> add_space();

enum class PrependScheme { kNever, kFirst, kAlways };
/// Spaces become the mark, which is also put before the piece that starts the input, or all pieces,
/// unless it is there. split: cuts before each mark.
std::unique_ptr<Step> mark_spaces(std::string mark, PrependScheme scheme, bool split);
/// Cuts after every `length` characters; length > 0.
std::unique_ptr<Step> split_every(size_t length);

}  // namespace wick::tokenization
