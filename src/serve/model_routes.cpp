#include "serve/model_routes.h"

#include "base/base64.h"
#include "base/json_text.h"
#include "serve/chat_choices.h"
#include "serve/choices_answer.h"
#include "serve/response_answer.h"
#include "serve/text_answer.h"

namespace wick::serve {
namespace {

/// Answers with the texts of the prompts.
void answer_texts(const ModelCall& call, const TextOptions& options,
                  const std::vector<TextPrompt>& prompts, AnswerForm& form) {
  TextAnswer answer(call.exchange, options, form, call.metrics, call.usage);
  TextFeed feed([&] {
    call.watch.check();
    answer.keep_alive();
  });
  for (const TextPrompt& prompt : prompts) {
    if (call.options.log && call.options.log_prompts)
      call.options.log("prompt " + json_quote(call.model.tokenizer().decode(prompt.prompt.ids)));
    call.model.submit(feed, options, prompt);
  }
  for (const TextPrompt& prompt : prompts)
    call.usage.prompt_tokens += int64_t(prompt.prompt.ids.size());
  if (options.streams)
    answer.send_parts(feed);
  else
    answer.send_whole(feed);
}

/// For the form of the answer; nullptr without log probabilities.
const TokenTexts* token_texts(const ModelCall& call, const TextOptions& options) {
  return options.logprobs ? &call.model.token_texts() : nullptr;
}

ReadingRules reading_rules_of(const ModelCall& call, const ChatRequest& request,
                              const TextPrompt& prompt) {
  return reading_rules(call.model.answer_format(), call.model.tokenizer(), request,
                       prompt.prompt.ids);
}

}  // namespace

void answer_chat(const ModelCall& call) {
  call.model.require_texts();
  ChatRequest request = read_chat(call.body, call.model.limits());
  const TextOptions& options = request.options;
  const TextPrompt prompt = call.model.chat_prompt(request.messages, request.layout);
  hold_to_calls(request, call.model.answer_format(), prompt.prompt.ids);
  ChoicesAnswer form(
      answer_head("chatcmpl-", options.streams ? "chat.completion.chunk" : "chat.completion",
                  call.model.id()),
      options.includes_usage,
      chat_form(token_texts(call, options), reading_rules_of(call, request, prompt)));
  answer_texts(call, options, {prompt}, form);
}

void answer_response(const ModelCall& call) {
  call.model.require_texts();
  ChatRequest request = read_response(call.body, call.model.limits());
  const TextOptions& options = request.options;
  const TextPrompt prompt = call.model.chat_prompt(request.messages, request.layout, "input");
  hold_to_calls(request, call.model.answer_format(), prompt.prompt.ids);
  ResponseAnswer form(call.model.id(), call.body, options, token_texts(call, options),
                      reading_rules_of(call, request, prompt));
  answer_texts(call, options, {prompt}, form);
}

void answer_completion(const ModelCall& call) {
  call.model.require_texts();
  const CompletionRequest request = read_completion(call.body, call.model.limits());
  const TextOptions& options = request.options;
  std::vector<std::string> echoes;
  if (request.echoes)
    for (const PromptInput& input : request.prompts) {
      const std::string* const text = std::get_if<std::string>(&input);
      echoes.insert(
          echoes.end(), size_t(options.choices),
          text ? *text
               : call.model.tokenizer().decode(std::get<std::vector<int64_t>>(input), true));
    }
  ChoicesAnswer form(answer_head("cmpl-", "text_completion", call.model.id()),
                     options.includes_usage,
                     completion_form(token_texts(call, options), std::move(echoes)));
  answer_texts(call, options, call.model.completion_prompts(request.prompts), form);
}

void answer_embeddings(const ModelCall& call) {
  const Fields& body = call.body;
  const std::string format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64")
    fail_field("encoding_format", "float or base64", *body.find("encoding_format"));
  const std::vector<PromptInput> inputs = read_inputs(body, "input", call.model.limits());
  const int64_t size = call.model.embedding_size();
  if (const auto dimensions = body.integer("dimensions", 1); dimensions && *dimensions != size)
    fail_unsupported("dimensions", "expected " + std::to_string(size) + ", the model's");
  Setting::List data;
  for (size_t i = 0; i < inputs.size(); i++) {
    call.watch.check();
    const std::string* const text = std::get_if<std::string>(&inputs[i]);
    if (!text)
      fail_unsupported("input", "expected texts: ids of another tokenizer mean other texts");
    const std::vector<float> values = call.model.embed(*text, "input", call.usage.prompt_tokens);
    Settings one;
    one.set("object", "embedding").set("index", int64_t(i));
    if (format == "base64")
      one.set("embedding", to_base64({reinterpret_cast<const char*>(values.data()),
                                      values.size() * sizeof(float)}));
    else
      one.set("embedding", Setting::List(values.begin(), values.end()));
    data.push_back(std::move(one));
  }
  Settings answer, used;
  const int64_t tokens = call.usage.prompt_tokens;
  used.set("prompt_tokens", tokens).set("total_tokens", tokens);
  answer.set("object", "list").set("data", std::move(data)).set("model", call.model.id());
  answer.set("usage", std::move(used));
  respond_json(call.exchange, answer);
}

/// The ids of a text or a conversation. vLLM and llama.cpp name the fields differently.
void answer_tokenize(const ModelCall& call) {
  const Fields& body = call.body;
  std::vector<int64_t> ids;
  if (body.find("messages")) {
    ChatRequest chat;
    chat.messages = read_messages(body, call.model.limits());
    read_layout(body, ToolForm::kChat, chat);
    ids = call.model.chat_prompt(chat.messages, chat.layout).prompt.ids;
  } else {
    const std::string field = body.find("content") ? "content" : "prompt";
    const std::optional<std::string> text = body.text(field);
    if (!text) fail_field(field, "a text, or messages", nullptr);
    const bool special =
        body.flag(field == "prompt" ? "add_special_tokens" : "add_special").value_or(true);
    ids = of_request(field, [&] {
      return call.model.tokenizer().encode_ids(*text, {.add_special = special, .add_end = false});
    });
  }
  Settings answer;
  answer.set("count", int64_t(ids.size()));
  if (const auto capacity = call.model.capacity()) answer.set("max_model_len", *capacity);
  answer.set("tokens", Setting::List(ids.begin(), ids.end()));
  respond_json(call.exchange, answer);
}

void answer_detokenize(const ModelCall& call) {
  const Setting::List* const list = call.body.list("tokens");
  if (!list) fail_field("tokens", "a list of ids", nullptr);
  const std::string text =
      call.model.tokenizer().decode(read_ids(*list, "tokens", call.model.limits()));
  Settings answer;
  answer.set("prompt", text).set("content", text);
  respond_json(call.exchange, answer);
}

}  // namespace wick::serve
