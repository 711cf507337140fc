// A conversation that fits a model's context: the oldest turns are left out.
#pragma once
#include <vector>

#include "wick/load/load_model.h"

namespace wick {

/// The part of a conversation that the model reads.
struct ChatWindow {
  std::vector<int64_t> ids;  // as chat_ids gives them, at most the context's capacity
  int64_t first = 0;         // messages before the turns: system messages, always kept
  int64_t left_out = 0;      // messages after those that are missing from ids
};

/// The ids of a conversation as LanguageModel::chat_ids, in a context of `capacity` tokens.
/// If they and an answer of a quarter of the context (`answer` tokens if that is less) do not fit,
/// leaves out the fewest oldest turns that make them fit; a turn is a user's message and the
/// messages up to the next. Keeps the system messages that the conversation begins with, and the
/// last turn, which may take the whole context.
/// Errors: kOutOfRange if the system messages and the last turn exceed the capacity;
/// kInvalidArgument unless capacity > 0 and answer >= 0; as LanguageModel::chat_ids.
WICK_API ChatWindow chat_window(const LanguageModel& model,
                                const std::vector<ChatMessage>& messages, int64_t capacity,
                                int64_t answer, const ChatOptions& options = {});

}  // namespace wick
