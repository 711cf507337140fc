// Texts, images and conversations as a model reads them.
#include "load/retrieval.h"
#include "wick/base/error.h"

namespace wick {
namespace {

/// The text of the token that stands for an image. Errors: kFormat.
std::string placeholder_of(const LanguageModel& model) {
  const int64_t id = model.facts().images->token_id;
  const std::string text = model.tokenizer->token(id);
  check(!text.empty(), ErrorCode::kFormat, "prompt", "the tokenizer has no token ", id,
        ", the placeholder of images");
  return text;
}

std::string repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; i++) all += text;
  return all;
}

/// The text of the token that begins a text, "" without such a token.
std::string beginning_of(const LanguageModel& model) {
  if (!model.bos_token.empty()) return model.bos_token;
  const std::optional<int64_t> bos = model.tokenizer->bos();
  return bos ? model.tokenizer->token(*bos) : "";
}

/// The ids with all placeholders of an image in place of one. Errors: kInvalidArgument unless there
/// is one for each image.
std::vector<int64_t> with_placeholders(const LanguageModel& model, const std::vector<int64_t>& ids,
                                       size_t images) {
  const ImageReading& reading = *model.facts().images;
  std::vector<int64_t> all;
  size_t found = 0;
  for (const int64_t id : ids) {
    found += id == reading.token_id;
    all.insert(all.end(), id == reading.token_id ? size_t(reading.tokens) : 1, id);
  }
  check(found == images, ErrorCode::kInvalidArgument, "prompt", "expected a ",
        placeholder_of(model), " in the text for each of ", images, " images, got ", found);
  return all;
}

/// A conversation without a template, with a placeholder for each image. Each message is encoded by
/// itself, so that a further one leaves the ids of those before it.
std::vector<int64_t> plain_turns(const LanguageModel& model,
                                 const std::vector<ChatMessage>& messages) {
  std::vector<int64_t> ids;
  // before, after: text of the program around a content.
  const auto add = [&](const std::string& before, const std::string& content = "",
                       const std::string& after = "") {
    const int64_t begin = int64_t(before.size()), end = begin + int64_t(content.size());
    const std::vector<int64_t> own = model.tokenizer->encode_ids(
        before + content + after, {.add_special = false, .user = {{begin, end}}});
    ids.insert(ids.end(), own.begin(), own.end());
  };
  for (size_t i = 0; i < messages.size(); i++) {
    const ChatMessage& message = messages[i];
    if (!message.images.empty()) add(repeated(placeholder_of(model), message.images.size()));
    if (message.role == "assistant") {
      if (i == 0) add(beginning_of(model));
      add("", message.content);
      add("\n");  // after the answer's own tokens
    } else {
      add(i == 0 ? beginning_of(model) : "", message.content, "\n");
    }
  }
  return ids;
}

void require_tokenizer(const LanguageModel& model, const char* op) {
  check(model.tokenizer.has_value(), ErrorCode::kUnsupported, op, "the model has no tokenizer");
}

}  // namespace

std::vector<int64_t> LanguageModel::prompt_ids(const std::string& text) const {
  require_tokenizer(*this, "prompt");
  const std::vector<int64_t> ids = tokenizer->encode_ids(text, {.add_end = false});
  return ids.empty() ? tokenizer->encode_ids("\n", {.add_end = false}) : ids;
}

Tensor LanguageModel::pixel_values(std::span<const Image> images) const {
  check(facts().images.has_value(), ErrorCode::kUnsupported, "prompt", "a model of type ",
        facts().model_type, " reads no images");
  check(image_processor.has_value(), ErrorCode::kUnsupported, "prompt",
        "the model has no image processor: expected preprocessor_config.json or "
        "processor_config.json in its folder");
  return (*image_processor)(images, {.dtype = DType::kF32, .device = Device::cpu()});
}

// Source of the layout: transformers 5.24 (Apache 2.0), PaliGemmaProcessor.
Prompt LanguageModel::prompt(const std::string& text, std::span<const Image> images) const {
  if (images.empty()) return {.ids = prompt_ids(text), .pixel_values = {}};
  const Tensor pixels = pixel_values(images);
  require_tokenizer(*this, "prompt");
  const std::string placeholder = placeholder_of(*this);
  const size_t last = text.rfind(placeholder),
               end = last == text.npos ? 0 : last + placeholder.size();
  const std::string before =
      last == text.npos ? repeated(placeholder, images.size()) : text.substr(0, end);
  const std::vector<int64_t> ids = tokenizer->encode_ids(
      before + beginning_of(*this) + text.substr(end) + "\n", {.add_special = false});
  return {.ids = with_placeholders(*this, ids, images.size()), .pixel_values = pixels};
}

// Source of the layout: transformers 5.24 (Apache 2.0), ColPaliProcessor.
std::vector<int64_t> LanguageModel::query_ids(const std::string& query) const {
  require_retrieval(*this, "query_ids");
  require_tokenizer(*this, "query_ids");
  const std::vector<int64_t> ids = tokenizer->encode_ids(
      beginning_of(*this) + retrieval.query_prefix + query + retrieval.query_suffix + "\n",
      {.add_special = false});
  if (facts().images) image_places(*model, ids, 0);
  return ids;
}

std::vector<int64_t> LanguageModel::chat_ids(const std::vector<ChatMessage>& messages,
                                             ChatOptions options) const {
  const bool reads_images = facts().images.has_value();
  check(chat_template || reads_images, ErrorCode::kUnsupported, "chat",
        "the model has no chat template");
  require_tokenizer(*this, "chat");
  size_t images = 0;
  for (const ChatMessage& message : messages) images += message.images.size();
  check(images == 0 || reads_images, ErrorCode::kUnsupported, "chat", "a model of type ",
        facts().model_type, " reads no images");
  std::vector<int64_t> ids;
  if (chat_template) {
    if (options.bos_token.empty()) options.bos_token = bos_token;
    if (options.eos_token.empty()) options.eos_token = eos_token;
    if (images > 0) options.image_token = placeholder_of(*this);
    MarkedText text = render_chat_marked(*chat_template, messages, options);
    ids = tokenizer->encode_ids(text.text, {.add_special = false, .user = std::move(text.user)});
  } else {
    ids = plain_turns(*this, messages);
  }
  return reads_images ? with_placeholders(*this, ids, images) : ids;
}

}  // namespace wick
