// The choices of a chat: reasoning, content and calls of tools.
#pragma once
#include <memory>

#include "serve/answer_reader.h"
#include "serve/choices.h"

namespace wick::serve {

/// texts: for logprobs; nullptr without them. The form keeps a reference to texts.
std::unique_ptr<ChoiceForm> chat_form(const TokenTexts* texts, ReadingRules rules);

}  // namespace wick::serve
