// The choices of a chat: reasoning, content and calls of tools.
#pragma once
#include <memory>
#include <vector>

#include "serve/choices.h"
#include "serve/requests.h"
#include "wick/text/answer.h"

namespace wick::serve {

/// Holds the answer to calls, if the request's tool_choice forces one. Errors: RequestError 400,
/// naming tool_choice or the part of tools that no grammar can hold.
void hold_to_calls(ChatRequest& request, const AnswerFormat& format,
                   const std::vector<int64_t>& prompt);

/// texts: for logprobs; nullptr without them. prompt: the request's ids. The form keeps a reference
/// to texts.
std::unique_ptr<ChoiceForm> chat_form(const TokenTexts* texts, const AnswerFormat& format,
                                      const Tokenizer& tokenizer, const ChatRequest& request,
                                      const std::vector<int64_t>& prompt);

}  // namespace wick::serve
