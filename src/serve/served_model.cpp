#include "serve/served_model.h"

#include <algorithm>

#include "wick/base/error.h"
#include "wick/io/json.h"
#include "wick/media/image.h"
#include "wick/ops/arrange.h"

namespace wick::serve {
namespace {

/// The images of all messages as the model's input; empty without images.
Tensor pixels_of(const LanguageModel& model, const std::vector<ChatMessage>& messages) {
  std::vector<Tensor> pixels;
  for (const ChatMessage& message : messages)
    for (const auto& image : message.images) pixels.push_back(model.pixel_values({image.get(), 1}));
  return pixels.empty() ? Tensor() : cat(pixels, 0);
}

/// The messages with the arguments of calls as JSON texts; missing if no call has an object.
std::optional<std::vector<ChatMessage>> with_text_arguments(std::vector<ChatMessage> messages) {
  bool has_object = false;
  for (ChatMessage& message : messages) {
    const Setting* const given = message.more.find("tool_calls");
    const Setting::List* const list = given ? std::get_if<Setting::List>(&given->value) : nullptr;
    if (!list) continue;
    Setting::List calls = *list;
    for (Setting& one : calls) {
      Settings& call = std::get<Settings>(one.value);
      Settings function = *call.group("function");
      const Settings* const arguments = function.group("arguments");
      if (!arguments) continue;
      has_object = true;
      const std::string text = to_json(*arguments, -1);
      call.set("function", function.set("arguments", text));
    }
    message.more.set("tool_calls", std::move(calls));
  }
  return has_object ? std::optional(std::move(messages)) : std::nullopt;
}

/// The ids of a chat. Most templates take the arguments of calls as objects, some, such as
/// DeepSeek's, as texts only.
std::vector<int64_t> ids_of(const LanguageModel& model, const std::vector<ChatMessage>& messages,
                            const ChatOptions& layout) {
  try {
    return model.chat_ids(messages, layout);
  } catch (const Error&) {
    const auto others = with_text_arguments(messages);
    if (!others) throw;
    try {
      return model.chat_ids(*others, layout);
    } catch (const Error&) {  // NOLINT: the first error is the one to report
    }
    throw;
  }
}

}  // namespace

ServedModel::ServedModel(std::string id, const LanguageModel& model, const EngineOptions& options)
    : id_(std::move(id)), model_(model) {
  const ModelFacts& facts = model_.facts();
  if (facts.is_causal && facts.embedding_dim == 0) engine_.emplace(model_, options);
  limits_ = {.sampling = model_.default_sampling(),
             .vocab_size = facts.vocab_size,
             .reads_images = facts.images && model_.image_processor};
  if (!model_.tokenizer) return;
  token_texts_.emplace(*model_.tokenizer);
  if (model_.chat_template)
    answer_format_ = AnswerFormat(model_.chat_template->source(), *model_.tokenizer);
  writes_tools_ = !answer_format_.calls().empty();
  for (int64_t token = 0; token < model_.tokenizer->vocab_size(); token++)
    longest_token_ = std::max(longest_token_, int64_t(model_.tokenizer->token(token).size()));
}

std::optional<int64_t> ServedModel::capacity() const {
  return engine_ ? std::optional(engine_->options().capacity) : std::nullopt;
}

std::optional<EngineStats> ServedModel::stats() const {
  return engine_ ? std::optional(engine_->stats()) : std::nullopt;
}

const Tokenizer& ServedModel::tokenizer() const {
  if (!model_.tokenizer) throw RequestError(400, "the model has no tokenizer");
  return *model_.tokenizer;
}

const TokenTexts& ServedModel::token_texts() const {
  tokenizer();
  return *token_texts_;
}

void ServedModel::require_texts() const {
  if (!engine_)
    throw RequestError(400, "the model gives embeddings and continues no text: use /v1/embeddings");
}

/// Refuses a text that cannot fit, before the time that its tokens would take.
void ServedModel::check_length(size_t bytes, const std::string& field) const {
  const std::optional<int64_t> most = capacity();
  if (most && int64_t(bytes) / longest_token_ > *most)
    throw RequestError(400,
                       "'" + field + "': " + std::to_string(bytes) +
                           " bytes are more than a context of " + std::to_string(*most) +
                           " tokens can hold",
                       field, "context_length_exceeded");
}

TextPrompt ServedModel::chat_prompt(const std::vector<ChatMessage>& messages,
                                    const ChatOptions& layout, const std::string& field) const {
  size_t bytes = 0;
  for (const ChatMessage& message : messages) bytes += message.content.size();
  check_length(bytes, field);
  if (writes_tools_ && !layout.tools.empty()) {
    for (const Setting& tool : layout.tools)
      bytes += to_json(std::get<Settings>(tool.value), -1).size();
    check_length(bytes, "tools");
  }
  return of_request(field, [&] {
    return TextPrompt{{ids_of(model_, messages, layout), pixels_of(model_, messages)}, field};
  });
}

std::vector<TextPrompt> ServedModel::completion_prompts(
    const std::vector<PromptInput>& inputs) const {
  std::vector<TextPrompt> prompts;
  for (const PromptInput& input : inputs) {
    if (const std::string* text = std::get_if<std::string>(&input)) {
      check_length(text->size(), "prompt");
      prompts.push_back(of_request("prompt", [&] {
        return TextPrompt{{model_.prompt_ids(*text), Tensor()}, "prompt"};
      }));
    } else {
      prompts.push_back({{std::get<std::vector<int64_t>>(input), Tensor()}, "prompt"});
    }
  }
  return prompts;
}

void ServedModel::submit(TextFeed& feed, const TextOptions& options, const TextPrompt& prompt) {
  require_texts();
  for (int64_t choice = 0; choice < options.choices; choice++) {
    EngineRequest request{.prompt = prompt.prompt.ids,
                          .sampling = options.sampling,
                          .seed = options.seed,
                          .max_tokens = options.max_tokens,
                          .stop = options.stop,
                          .grammar = options.grammar,
                          .logprobs = options.logprobs,
                          .pixel_values = prompt.prompt.pixel_values};
    if (options.seed) request.seed = *options.seed + uint64_t(choice);
    if (options.ignores_end) request.stop_ids.emplace();
    of_request(prompt.param, [&] { feed.add(engine_->submit(std::move(request))); });
  }
}

std::vector<float> ServedModel::embed(const std::string& text, const std::string& field,
                                      int64_t& tokens) {
  check_length(text.size(), field);
  return of_request(field, [&] {
    tokens += int64_t(tokenizer().encode_ids(text).size());
    const std::lock_guard lock(embedding_);
    return model_.embed(text).to_vector<float>();
  });
}

}  // namespace wick::serve
