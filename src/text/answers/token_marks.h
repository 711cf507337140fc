// Finds the tokens that are markers in the text of an answer.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/answers/families.h"
#include "text/answers/tools.h"
#include "wick/text/tokenizer.h"

namespace wick::answers {

/// Decodes the tokens again, to learn where in the text a marker stands. Text may come later than
/// its tokens, because a stop string holds it back, or never.
class TokenMarks {
 public:
  TokenMarks(std::shared_ptr<const Format> format, const Tokenizer& tokenizer, Tools tools)
      : format_(std::move(format)), tools_(std::move(tools)), tokens_(tokenizer, true) {}

  const Format& format() const { return *format_; }
  const Tools& tools() const { return tools_; }

  /// The text's next symbols.
  Symbols push(std::string_view text, std::span<const int64_t> ids);
  /// Markers after the last text.
  Symbols finish();

 private:
  struct Found {
    size_t begin, end;  // bytes of the whole text
    Symbol symbol;
  };
  void add_ids(std::span<const int64_t> ids);
  void add_due(Symbols& symbols);

  std::shared_ptr<const Format> format_;
  Tools tools_;
  TokenStream tokens_;
  size_t decoded_ = 0;  // bytes of the text that the ids give
  size_t seen_ = 0;     // bytes of the text that have come
  std::deque<Found> found_;
};

}  // namespace wick::answers
