// A model that answers requests: its engine, its limits, its prompts.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/answers.h"
#include "serve/requests.h"
#include "serve/text_feed.h"
#include "wick/load/load_model.h"
#include "wick/text/answer.h"

namespace wick::serve {

/// A prompt, and the request's field that it comes from.
struct TextPrompt {
  Prompt prompt;
  std::string param;
};

/// Any thread may call the functions.
class ServedModel {
 public:
  /// id: the model's name in answers. Errors: as of Engine, if the model continues texts.
  ServedModel(std::string id, const LanguageModel& model, const EngineOptions& options);

  const std::string& id() const { return id_; }
  std::vector<Device> devices() const { return model_.model->devices(); }
  const RequestLimits& limits() const { return limits_; }
  /// Tokens of a text and its prompt; missing for a model that continues no text.
  std::optional<int64_t> capacity() const;
  /// The engine's counts; missing for a model that continues no text.
  std::optional<EngineStats> stats() const;
  /// Errors: RequestError 400 without a tokenizer.
  const Tokenizer& tokenizer() const;
  /// For log probabilities. Errors: as of tokenizer.
  const TokenTexts& token_texts() const;
  /// How the model writes reasoning and calls of tools.
  const AnswerFormat& answer_format() const { return answer_format_; }
  /// Errors: RequestError 400 for a model that gives embeddings alone.
  void require_texts() const;

  /// Errors of the prompts: RequestError 400, naming the field; a text that cannot fit is refused
  /// before it is cut into tokens.
  TextPrompt chat_prompt(const std::vector<ChatMessage>& messages, const ChatOptions& layout,
                         const std::string& field = "messages") const;
  std::vector<TextPrompt> completion_prompts(const std::vector<PromptInput>& inputs) const;
  /// Queues all choices of a prompt. Errors: RequestError.
  void submit(TextFeed& feed, const TextOptions& options, const TextPrompt& prompt);

  /// The embedding of a text. tokens: the text's are added. Errors: RequestError 400.
  std::vector<float> embed(const std::string& text, const std::string& field, int64_t& tokens);
  int64_t embedding_size() const { return model_.facts().hidden_size; }

 private:
  void check_length(size_t bytes, const std::string& field) const;

  const std::string id_;
  const LanguageModel model_;
  RequestLimits limits_;
  int64_t longest_token_ = 1;  // bytes
  std::optional<Engine> engine_;
  std::optional<TokenTexts> token_texts_;
  AnswerFormat answer_format_;
  bool writes_tools_ = false;  // the template writes tools into the prompt, with their schemas
  std::mutex embedding_;       // one embedding at a time
};

}  // namespace wick::serve
