#include "wick/generate/chat_window.h"

#include <algorithm>

#include "wick/base/error.h"

namespace wick {
namespace {

/// The conversation without the messages [first, first + left_out).
std::vector<int64_t> ids_without(const LanguageModel& model,
                                 const std::vector<ChatMessage>& messages,
                                 const ChatOptions& options, int64_t first, int64_t left_out) {
  std::vector<ChatMessage> kept = messages;
  kept.erase(kept.begin() + first, kept.begin() + first + left_out);
  return model.chat_ids(kept, options);
}

}  // namespace

ChatWindow chat_window(const LanguageModel& model, const std::vector<ChatMessage>& messages,
                       int64_t capacity, int64_t answer, const ChatOptions& options) {
  check(capacity > 0, ErrorCode::kInvalidArgument, "chat", "capacity: expected at least 1, got ",
        capacity);
  check(answer >= 0, ErrorCode::kInvalidArgument, "chat", "answer: expected at least 0, got ",
        answer);
  ChatWindow window{.ids = model.chat_ids(messages, options)};
  const int64_t count = int64_t(messages.size());
  while (window.first < count && messages[size_t(window.first)].role == "system") window.first++;
  const int64_t room = capacity - std::min(answer, capacity / 4);
  const auto fits = [&](int64_t most) { return int64_t(window.ids.size()) <= most; };
  if (fits(room)) return window;

  std::vector<int64_t> starts;  // of the turns after the first
  for (int64_t i = window.first + 1; i < count; i++)
    if (messages[size_t(i)].role == "user") starts.push_back(i);
  if (!starts.empty()) {
    // Fewer turns have fewer tokens, so a binary search lays out few conversations.
    const auto too_long = [&](int64_t start) {
      const int64_t out = start - window.first;
      return int64_t(ids_without(model, messages, options, window.first, out).size()) > room;
    };
    const auto least = std::partition_point(starts.begin(), starts.end() - 1, too_long);
    window.left_out = *least - window.first;
    window.ids = ids_without(model, messages, options, window.first, window.left_out);
  }
  check(fits(capacity), ErrorCode::kOutOfRange, "chat", "the message takes ", window.ids.size(),
        " tokens", window.first > 0 ? " with the system message" : "", ", the context has ",
        capacity);
  return window;
}

}  // namespace wick
