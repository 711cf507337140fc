// The choices of an answer, as an API lays them out, and the layout of completions.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/answers.h"

namespace wick::serve {

class ChoiceForm {
 public:
  virtual ~ChoiceForm() = default;
  /// Before the first part of a text; missing: nothing.
  virtual std::optional<Settings> first(int64_t index) = 0;
  /// The next piece of a text that is answered in parts; missing: nothing yet.
  virtual std::optional<Settings> part(int64_t index, const EnginePiece& piece) = 0;
  /// The end of such a text, and before it the parts that were held back.
  virtual std::vector<Settings> last(int64_t index, const EngineText& text) = 0;
  /// The next piece of a text that is answered whole.
  virtual void read(int64_t, const EnginePiece&) {}
  /// Such a text, once it has ended.
  virtual Settings whole(int64_t index, const EngineText& text) = 0;
  /// Whether the answer is complete, whatever follows in the text.
  virtual bool is_complete(int64_t) const { return false; }
  /// The tokens of reasoning in all texts.
  virtual int64_t reasoning_tokens() const { return 0; }
};

/// texts: for logprobs; nullptr without them. echoes: the text before each choice; empty: nothing.
std::unique_ptr<ChoiceForm> completion_form(const TokenTexts* texts,
                                            std::vector<std::string> echoes);

}  // namespace wick::serve
