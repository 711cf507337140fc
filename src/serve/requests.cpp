#include "serve/requests.h"

#include <charconv>
#include <limits>

#include "wick/base/error.h"

namespace wick::serve {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr int64_t kMaxChoices = 128;
constexpr size_t kMaxStops = 64, kMaxPrompts = 2048;

std::vector<std::string> read_stop(const Fields& body) {
  const Setting* const given = body.find("stop");
  if (!given) return {};
  Setting::List list;
  if (std::holds_alternative<std::string>(given->value))
    list = {*given};
  else
    list = *body.list("stop");
  if (list.size() > kMaxStops)
    fail_unsupported("stop", "expected at most " + std::to_string(kMaxStops) + " texts, got " +
                                 std::to_string(list.size()));
  std::vector<std::string> stop;
  for (const Setting& item : list) {
    const std::string* const text = std::get_if<std::string>(&item.value);
    if (!text || text->empty()) fail_field("stop", "texts that are not empty", item);
    stop.push_back(*text);
  }
  return stop;
}

std::map<int64_t, double> read_logit_bias(const Fields& body, int64_t vocab_size) {
  std::map<int64_t, double> biases;
  const std::optional<Fields> given = body.object("logit_bias");
  if (!given) return biases;
  for (const auto& [key, value] : given->settings().entries()) {
    int64_t id = -1;
    const char* const end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, id);
    if (error != std::errc() || stop != end || id < 0 || id >= vocab_size)
      fail_field(given->name(key), "an id below " + std::to_string(vocab_size) + " as key",
                 Setting(key));
    biases[id] = given->real(key, -100, 100).value_or(0);
  }
  return biases;
}

Sampling read_sampling(const Fields& body, const RequestLimits& limits) {
  Sampling s = limits.sampling;
  s.temperature = body.real("temperature", 0, kLargest).value_or(s.temperature);
  if (const auto top_p = body.real("top_p", 0, 1))
    s.top_p = std::max(*top_p, 1e-9);  // 0: the likeliest
  if (const auto top_k = body.integer("top_k", -1)) s.top_k = std::max<int64_t>(*top_k, 0);
  s.min_p = body.real("min_p", 0, 1).value_or(s.min_p);
  s.presence_penalty = body.real("presence_penalty", -2, 2).value_or(s.presence_penalty);
  s.frequency_penalty = body.real("frequency_penalty", -2, 2).value_or(s.frequency_penalty);
  s.repetition_penalty =
      body.real("repetition_penalty", 1e-6, kLargest).value_or(s.repetition_penalty);
  s.logit_bias = read_logit_bias(body, limits.vocab_size);
  return s;
}

/// Fields that OpenAI has and wick lacks, of which some values would change the answer.
void refuse_unsupported(const Fields& body) {
  for (const char* key : {"audio", "functions", "function_call", "web_search_options"})
    if (body.find(key)) fail_unsupported(key, "not supported by this server");
  if (const Setting::List* modalities = body.list("modalities"))
    for (const Setting& item : *modalities)
      if (const std::string* text = std::get_if<std::string>(&item.value); !text || *text != "text")
        fail_field("modalities", "[\"text\"]", item);
}

/// Returns make(), the grammar of a field.
template <class F>
Grammar grammar_of(const std::string& field, const F& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw RequestError(400, "'" + field + "': " + error.what(), field, "invalid_value");
  }
}

constexpr const char* kOneGrammar = "expected one grammar, got several";

/// The grammar of response_format, or of the fields that vLLM (guided_regex, guided_choice) and
/// llama.cpp (grammar) have.
void read_grammar(const Fields& body, TextOptions& options) {
  const auto set = [&](std::string_view key, const auto& make) {
    if (options.grammar) fail_unsupported(body.name(key), kOneGrammar);
    options.grammar.emplace(grammar_of(body.name(key), make));
  };
  if (const std::optional<Fields> format = body.object("response_format"))
    read_format(*format, format->object("json_schema"), options);
  if (const auto text = body.text("grammar")) set("grammar", [&] { return Grammar::gbnf(*text); });
  if (const auto text = body.text("guided_regex"))
    set("guided_regex", [&] { return Grammar::regex(*text); });
  if (const Setting::List* const list = body.list("guided_choice")) {
    std::vector<std::string> choices;
    for (const Setting& item : *list) {
      const std::string* const text = std::get_if<std::string>(&item.value);
      if (!text) fail_field("guided_choice", "texts", item);
      choices.push_back(*text);
    }
    set("guided_choice", [&] { return Grammar::choice(choices); });
  }
}

}  // namespace

void read_format(const Fields& format, const std::optional<Fields>& described,
                 TextOptions& options) {
  const std::string type = format.text("type").value_or("");
  const std::string& field = format.path();
  if (type == "text") return;
  if (options.grammar) fail_unsupported(field, kOneGrammar);
  if (type == "json_object") {
    options.format = Settings().set("type", "object");
    options.grammar = grammar_of(field, [] { return Grammar::json_object(); });
    return;
  }
  if (type != "json_schema") {
    const Setting* const given = format.find("type");
    fail_field(format.name("type"), "text, json_object or json_schema", given ? *given : Setting());
  }
  const Setting* const schema = described ? described->find("schema") : nullptr;
  if (!schema)
    fail_field(described ? described->name("schema") : format.name("json_schema.schema"),
               "a JSON schema", nullptr);
  options.format = *schema;
  options.grammar = grammar_of(field, [&] { return Grammar::json_schema(*schema); });
}

TextOptions read_options(const Fields& body, const RequestLimits& limits) {
  refuse_unsupported(body);
  TextOptions options;
  options.sampling = read_sampling(body, limits);
  if (const auto seed = body.integer("seed", std::numeric_limits<int64_t>::min()))
    options.seed = uint64_t(*seed);
  options.max_tokens = body.integer("max_tokens", 1);
  if (const auto tokens = body.integer("max_completion_tokens", 1)) options.max_tokens = tokens;
  options.stop = read_stop(body);
  read_grammar(body, options);
  options.choices = body.integer("n", 1, kMaxChoices).value_or(1);
  options.ignores_end = body.flag("ignore_eos").value_or(false);
  options.streams = body.flag("stream").value_or(false);
  if (const auto stream = body.object("stream_options"))
    options.includes_usage = stream->flag("include_usage").value_or(false);
  return options;
}

ChatRequest read_chat(const Fields& body, const RequestLimits& limits) {
  ChatRequest request;
  request.options = read_options(body, limits);
  constexpr int64_t kMaxLogprobs = 20;
  const std::optional<int64_t> top = body.integer("top_logprobs", 0, kMaxLogprobs);
  if (body.flag("logprobs").value_or(false))
    request.options.logprobs = top.value_or(0);
  else if (top && *top > 0)
    fail_unsupported("top_logprobs", "expected logprobs: true beside it");
  request.messages = read_messages(body, limits);
  read_layout(body, ToolForm::kChat, request);
  return request;
}

CompletionRequest read_completion(const Fields& body, const RequestLimits& limits) {
  CompletionRequest request;
  request.options = read_options(body, limits);
  constexpr int64_t kDefaultTokens = 16, kMaxLogprobs = 20;
  if (!request.options.max_tokens) request.options.max_tokens = kDefaultTokens;  // OpenAI's default
  request.options.logprobs = body.integer("logprobs", 0, kMaxLogprobs);
  request.echoes = body.flag("echo").value_or(false);
  if (request.echoes && request.options.logprobs)
    fail_unsupported("echo", "logprobs of a prompt are not supported");
  if (const auto suffix = body.text("suffix"); suffix && !suffix->empty())
    fail_unsupported("suffix", "texts before a suffix are not supported");
  if (const auto best = body.integer("best_of", 1, kMaxChoices);
      best && *best != request.options.choices)
    fail_unsupported("best_of", "expected the value of n, or nothing");
  request.prompts = read_inputs(body, "prompt", limits);
  return request;
}

std::vector<PromptInput> read_inputs(const Fields& body, std::string_view key,
                                     const RequestLimits& limits) {
  constexpr const char* kExpected =
      "a text, a list of texts, a list of ids or a list of such lists";
  const std::string name = body.name(key);
  const Setting* const given = body.find(key);
  if (!given) fail_field(name, kExpected, nullptr);
  if (const std::string* text = std::get_if<std::string>(&given->value)) return {*text};
  const Setting::List* const list = std::get_if<Setting::List>(&given->value);
  if (!list || list->empty()) fail_field(name, kExpected, *given);
  if (std::holds_alternative<int64_t>(list->front().value)) return {read_ids(*list, name, limits)};
  if (list->size() > kMaxPrompts)
    fail_unsupported(name, "expected at most " + std::to_string(kMaxPrompts) + " inputs, got " +
                               std::to_string(list->size()));
  std::vector<PromptInput> inputs;
  for (size_t i = 0; i < list->size(); i++) {
    const Setting& item = (*list)[i];
    const std::string item_name = name + "[" + std::to_string(i) + "]";
    if (const std::string* text = std::get_if<std::string>(&item.value))
      inputs.emplace_back(*text);
    else if (const Setting::List* ids = std::get_if<Setting::List>(&item.value);
             ids && !ids->empty())
      inputs.emplace_back(read_ids(*ids, item_name, limits));
    else
      fail_field(item_name, "a text or a list of ids", item);
  }
  return inputs;
}

std::vector<int64_t> read_ids(const Setting::List& list, const std::string& name,
                              const RequestLimits& limits) {
  std::vector<int64_t> ids;
  for (const Setting& item : list) {
    const int64_t* const id = std::get_if<int64_t>(&item.value);
    if (!id || *id < 0 || *id >= limits.vocab_size)
      fail_field(name, "ids from 0 to " + std::to_string(limits.vocab_size - 1), item);
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace wick::serve
