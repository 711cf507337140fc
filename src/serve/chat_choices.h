// The choices of a chat: reasoning, content and calls of tools.
#pragma once
#include <memory>
#include <vector>

#include "serve/choices.h"
#include "serve/requests.h"
#include "wick/text/answer.h"

namespace wick::serve {

/// texts: for logprobs; nullptr without them. prompt: the request's ids. The form keeps a reference
/// to texts.
std::unique_ptr<ChoiceForm> chat_form(const TokenTexts* texts, const AnswerFormat& format,
                                      const Tokenizer& tokenizer, const ChatRequest& request,
                                      const std::vector<int64_t>& prompt);

}  // namespace wick::serve
