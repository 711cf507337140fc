// The choices of an answer, as the APIs of chats and completions lay them out.
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
  virtual Settings part(int64_t index, const EnginePiece& piece) = 0;
  virtual Settings last(int64_t index, const EngineText& text) = 0;
  /// A text that is not answered in parts.
  virtual Settings whole(int64_t index, const EngineText& text) = 0;
};

/// texts: for logprobs; nullptr without them.
std::unique_ptr<ChoiceForm> chat_form(const TokenTexts* texts);
/// echoes: the text before each choice; empty: nothing.
std::unique_ptr<ChoiceForm> completion_form(const TokenTexts* texts,
                                            std::vector<std::string> echoes);

}  // namespace wick::serve
