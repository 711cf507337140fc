// A conversation with a model: its messages, and the session that has read them.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/generate/generation.h"
#include "wick/load/load_model.h"

namespace wick {

struct ConversationOptions {
  std::vector<ChatMessage> messages = {};  // that the conversation begins with
  /// The most tokens of an answer; missing: until the model ends it or the context is full.
  std::optional<int64_t> max_tokens = {};
  std::vector<std::string> stop = {};          // texts that end an answer and are not part of it
  std::optional<Grammar> grammar = {};         // of each answer, as of GenerationOptions
  bool skip_special = true;                    // leaves special tokens out of the answers
  ChatOptions chat_template = {};              // tools, and variables of the template
  std::function<bool()> interrupted = {};      // asked before each token; true ends the answer
  std::optional<SessionOptions> session = {};  // missing: default_session_options
};

/// A conversation by the model's chat template, or the plain turns of LanguageModel::chat_ids. The
/// session keeps the tokens and images that a question has in common with the text before, and
/// reads the others. Once the conversation outgrows the context, the model reads it without its
/// oldest turns (chat_window).
class WICK_API Chat {
 public:
  /// Errors: kUnsupported without a tokenizer or, unless the model reads images, a chat template;
  /// kInvalidArgument as of Generation and Session.
  explicit Chat(const LanguageModel& model, const ConversationOptions& options = {});

  /// Asks and returns the answer; on_text receives it piece by piece. A question that fails, by an
  /// exception of on_text too, or that is interrupted before its answer begins, leaves the
  /// conversation as it was. Errors: as of chat_window and Session.
  GeneratedText ask(const std::string& text,
                    const std::function<void(std::string_view)>& on_text = {});
  /// ask with messages, such as the results of tools; without any, the model answers the
  /// conversation as it is. Errors: also kInvalidArgument if there is no message at all.
  GeneratedText ask(const std::vector<ChatMessage>& messages,
                    const std::function<void(std::string_view)>& on_text = {});

  /// ask in parts: begin adds the messages, next returns the answer's next piece, and nothing once
  /// it has ended; end ends an answer as far as it was read, and returns whether the conversation
  /// has it. begin and set_messages end an answer that is still open.
  void begin(const std::vector<ChatMessage>& messages);
  std::optional<std::string> next();
  bool end();

  /// All messages, those that the model no longer reads included.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  /// Goes on from another conversation; the session reads again from the first difference.
  void set_messages(const std::vector<ChatMessage>& messages);
  /// Holds the answers to this grammar from the next question on; missing: they are free.
  void set_grammar(std::optional<Grammar> grammar) { options_.grammar = std::move(grammar); }
  /// Whether the last question was read without the oldest turns.
  bool forgot() const { return forgot_; }
  /// The last answer. Its prompt_tokens count the whole conversation, tokens that the session kept
  /// included.
  const GeneratedText& answer() const { return answer_; }
  const Session& session() const { return *session_; }

 private:
  LanguageModel model_;
  ConversationOptions options_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Generation> open_;  // the answer between begin and end
  GeneratedText answer_;
  std::vector<ChatMessage> messages_;
  std::vector<std::shared_ptr<const Image>> images_;  // those that the session has tokens of
  size_t before_ = 0;                                 // messages before the last question
  bool forgot_ = false, answered_ = false;
};

}  // namespace wick
