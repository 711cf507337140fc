// Grammars that other parts of the library write.
#pragma once
#include <optional>

#include "text/grammar/syntax.h"
#include "wick/text/grammar.h"

namespace wick::grammars {

struct GrammarMaker {
  /// table: the bytes of tokens that this grammar reads, in place of each GrammarState's.
  /// Errors: as Grammar.
  static Grammar make(const Syntax& syntax, Syntax::Rule root,
                      std::optional<TokenTable> table = std::nullopt);
};

}  // namespace wick::grammars
