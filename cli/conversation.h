// A conversation with a model: its messages, and the session that has read them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/generate/session.h"
#include "wick/load/load_model.h"
#include "writing.h"

namespace wick::cli {

struct ConversationOptions {
  std::optional<std::string> system = {};  // the system message
  int64_t capacity = 0;    // tokens; 0: 4096, or the model's maximum if that is less
  int64_t max_tokens = 0;  // of an answer; 0: until it ends or the context is full
  Sampling sampling = {};
  std::vector<std::string> stop = {};
  bool skip_special = true;
};

class Conversation {
 public:
  Conversation(const LanguageModel& model, const ConversationOptions& options);

  /// Starts anew, with this system message or none.
  void set_system(const std::optional<std::string>& text);
  /// Starts anew with the same system message.
  void clear();

  /// Asks and returns the answer. Forgets the oldest turns once the context is full (chat_window). A
  /// question that fails, or is interrupted before its answer begins, leaves the conversation as it
  /// was. Errors: as chat_window and Session. Call within the life of an InterruptWatch.
  Writing ask(const std::string& text, const std::function<void(std::string_view)>& on_text);

  /// Whether the last question made the conversation forget turns.
  bool forgot() const { return forgot_; }
  int64_t capacity() const { return session_.capacity(); }

 private:
  const LanguageModel& model_;
  ConversationOptions options_;
  Session session_;
  std::vector<ChatMessage> messages_;
  bool forgot_ = false;
};

}  // namespace wick::cli
