// Grammars of answers that call a function.
#pragma once
#include "text/answers/families.h"
#include "wick/text/answer.h"
#include "wick/text/grammar.h"

namespace wick::answers {

/// opens_reasoning: the prompt has begun the reasoning. Otherwise as AnswerFormat::call_grammar.
Grammar make_call_grammar(const Format& format, const Setting::List& tools,
                          const CallGrammarOptions& options, bool opens_reasoning);

}  // namespace wick::answers
