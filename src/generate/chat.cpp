#include "wick/generate/chat.h"

#include <algorithm>

#include "generate/capacity.h"
#include "wick/base/error.h"
#include "wick/generate/chat_window.h"
#include "wick/media/image.h"
#include "wick/ops/arrange.h"

namespace wick {
namespace {

SessionOptions session_of(const LanguageModel& model, const ConversationOptions& options) {
  SessionOptions session = options.session ? *options.session : default_session_options(model);
  session.capacity = capacity_of(session, *model.model, kDefaultCapacity);
  return session;
}

using Images = std::vector<std::shared_ptr<const Image>>;

/// The images of the messages that the model reads.
Images images_of(const std::vector<ChatMessage>& messages, const ChatWindow& window) {
  Images images;
  for (int64_t i = 0; i < int64_t(messages.size()); i++) {
    if (window.first <= i && i < window.first + window.left_out) continue;
    const Images& own = messages[size_t(i)].images;
    images.insert(images.end(), own.begin(), own.end());
  }
  return images;
}

/// The index of each image's first placeholder.
std::vector<int64_t> starts_of(const LanguageModel& model, const std::vector<int64_t>& ids) {
  std::vector<int64_t> starts;
  if (!model.facts().images) return starts;
  const ImageReading& reading = *model.facts().images;
  for (int64_t i = 0; i < int64_t(ids.size()); i++)
    if (ids[size_t(i)] == reading.token_id) {
      starts.push_back(i);
      i += reading.tokens - 1;
    }
  return starts;
}

}  // namespace

Chat::Chat(const LanguageModel& model, const ConversationOptions& options)
    : model_(model), options_(options), messages_(options.messages) {
  check(model.tokenizer.has_value(), ErrorCode::kUnsupported, "chat", "the model has no tokenizer");
  check(model.chat_template || model.facts().images, ErrorCode::kUnsupported, "chat",
        "the model has no chat template");
  check(!options.max_tokens || *options.max_tokens >= 0, ErrorCode::kInvalidArgument, "chat",
        "max_tokens: expected at least 0, got ", options.max_tokens.value_or(0));
  const StopStrings checked(options.stop);
  session_ = std::make_unique<Session>(model, session_of(model, options));
}

GeneratedText Chat::ask(const std::string& text,
                        const std::function<void(std::string_view)>& on_text) {
  return ask(std::vector<ChatMessage>{{.role = "user", .content = text}}, on_text);
}

GeneratedText Chat::ask(const std::vector<ChatMessage>& messages,
                        const std::function<void(std::string_view)>& on_text) {
  begin(messages);
  try {
    while (const auto piece = next())
      if (on_text) on_text(*piece);
  } catch (...) {
    open_.reset();
    messages_.resize(before_);
    throw;
  }
  return answer_;
}

void Chat::begin(const std::vector<ChatMessage>& messages) {
  end();
  check(!messages_.empty() || !messages.empty(), ErrorCode::kInvalidArgument, "chat",
        "expected a message, the conversation has none");
  before_ = messages_.size();
  answered_ = false;
  messages_.insert(messages_.end(), messages.begin(), messages.end());
  try {
    const int64_t capacity = session_->capacity();
    const ChatWindow window =
        chat_window(model_, messages_, capacity, options_.max_tokens.value_or(capacity),
                    options_.chat_template);
    // The last token is read again: its logits are needed.
    const std::vector<int64_t>&ids = window.ids, held = session_->history();
    const auto same = std::mismatch(held.begin(), held.end(), ids.begin(), ids.end());
    int64_t kept = std::min(int64_t(same.first - held.begin()), int64_t(ids.size()) - 1);
    const Images images = images_of(messages_, window);
    // All images have the same ids. One is read whole or not at all.
    const std::vector<int64_t> starts = starts_of(model_, ids);
    size_t known = 0;
    while (known < images.size() && starts[known] + model_.facts().images->tokens <= kept &&
           known < images_.size() && *images_[known] == *images[known])
      known++;
    if (known < images.size()) kept = std::min(kept, starts[known]);
    std::vector<Tensor> pixels;
    for (size_t i = known; i < images.size(); i++)
      pixels.push_back(model_.pixel_values({images[i].get(), 1}));
    images_.resize(std::min(images_.size(), known));
    session_->rewind(kept);
    open_ = std::make_unique<Generation>(
        model_, *session_, std::vector<int64_t>(ids.begin() + kept, ids.end()),
        GenerationOptions{.max_tokens = options_.max_tokens,
                          .stop = options_.stop,
                          .grammar = options_.grammar,
                          .skip_special = options_.skip_special,
                          .pixel_values = pixels.empty() ? Tensor() : cat(pixels, 0),
                          .interrupted = options_.interrupted});
    images_ = images;
    answer_ = {.prompt_tokens = int64_t(ids.size())};
    forgot_ = window.left_out > 0;
  } catch (...) {
    messages_.resize(before_);
    throw;
  }
}

std::optional<std::string> Chat::next() {
  if (!open_) return {};
  try {
    std::optional<std::string> piece = open_->next();
    if (!piece) end();
    return piece;
  } catch (...) {
    open_.reset();
    messages_.resize(before_);
    throw;
  }
}

bool Chat::end() {
  if (!open_) return answered_;
  const int64_t prompt_tokens = answer_.prompt_tokens;
  answer_ = open_->result();
  answer_.prompt_tokens = prompt_tokens;
  open_.reset();
  answered_ = answer_.ending != Ending::kInterrupted || !answer_.ids.empty();
  if (answered_)
    messages_.push_back({.role = "assistant", .content = answer_.text});
  else
    messages_.resize(before_);
  return answered_;
}

void Chat::set_messages(const std::vector<ChatMessage>& messages) {
  end();
  messages_ = messages;
  answered_ = false;
}

}  // namespace wick
