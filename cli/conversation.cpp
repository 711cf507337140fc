#include "conversation.h"

#include <algorithm>

#include "ranges.h"
#include "wick/generate/chat_window.h"

namespace wick::cli {
namespace {

/// The cache allocates its whole capacity, so the default is bounded.
int64_t capacity_of(const LanguageModel& model, const ConversationOptions& options) {
  constexpr int64_t kDefault = 4096;
  return options.capacity > 0 ? options.capacity
                              : std::min(kDefault, model.facts().max_position_embeddings);
}

}  // namespace

Conversation::Conversation(const LanguageModel& model, const ConversationOptions& options)
    : model_(model),
      options_(options),
      session_(model, {.capacity = capacity_of(model, options), .sampling = options.sampling}) {
  set_system(options.system);
}

void Conversation::set_system(const std::optional<std::string>& text) {
  options_.system = text;
  clear();
}

void Conversation::clear() {
  messages_.clear();
  if (options_.system) messages_.push_back({.role = "system", .content = *options_.system});
}

Writing Conversation::ask(const std::string& text,
                          const std::function<void(std::string_view)>& on_text) {
  const std::vector<ChatMessage> before = messages_;
  const int64_t most = options_.max_tokens > 0 ? options_.max_tokens : kMostCounted;
  messages_.push_back({.role = "user", .content = text});
  try {
    const ChatWindow window = chat_window(model_, messages_, session_.capacity(), most);
    forgot_ = window.left_out > 0;
    const auto turns = messages_.begin() + window.first;
    messages_.erase(turns, turns + window.left_out);
    // The session keeps the tokens that the conversation begins with, and reads the others.
    const std::vector<int64_t>&ids = window.ids, read = session_.history();
    const auto same = std::mismatch(read.begin(), read.end(), ids.begin(), ids.end());
    const int64_t kept = std::min(int64_t(same.first - read.begin()), int64_t(ids.size()) - 1);
    session_.rewind(kept);
    Writing writing = write(model_, session_, {ids.begin() + kept, ids.end()},
                            {.max_tokens = most,
                             .stop = options_.stop,
                             .skip_special = options_.skip_special,
                             .on_text = on_text});
    writing.prompt_tokens = int64_t(ids.size());
    if (writing.stopped == std::string_view("interrupted") && writing.ids.empty())
      messages_ = before;
    else
      messages_.push_back({.role = "assistant", .content = writing.text});
    return writing;
  } catch (...) {
    messages_ = before;
    throw;
  }
}

}  // namespace wick::cli
