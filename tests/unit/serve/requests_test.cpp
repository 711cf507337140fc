#include "serve/requests.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "wick/io/file.h"
#include "wick/media/image.h"

namespace wick::serve {
namespace {

const RequestLimits kLimits{.sampling = {.temperature = 0.7, .top_k = 20, .presence_penalty = 1.5},
                            .vocab_size = 100,
                            .reads_images = false};
constexpr const char* kUser = R"("messages": [{"role": "user", "content": "Hi"}])";

ChatRequest chat(const std::string& fields, const RequestLimits& limits = kLimits) {
  const Settings body = parse_body("{" + fields + "}");
  return read_chat(Fields(body), limits);
}
ChatRequest chat_with(const std::string& field) { return chat(std::string(kUser) + ", " + field); }

CompletionRequest completion(const std::string& fields) {
  const Settings body = parse_body("{" + fields + "}");
  return read_completion(Fields(body), kLimits);
}

/// "FIELD | MESSAGE" of the error that f throws.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
    return "no error";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status, 400);
    return error.param + " | " + error.what();
  }
}

TEST(ReadChat, TakesTheModelsSamplingWhereARequestHasNone) {
  const TextOptions options = chat(kUser).options;
  EXPECT_EQ(options.sampling.temperature, 0.7);
  EXPECT_EQ(options.sampling.top_k, 20);
  EXPECT_EQ(options.sampling.presence_penalty, 1.5);
  EXPECT_EQ(options.max_tokens, std::nullopt);
  EXPECT_EQ(options.seed, std::nullopt);
  EXPECT_EQ(options.logprobs, std::nullopt);
  EXPECT_EQ(options.choices, 1);
  EXPECT_FALSE(options.streams);
}

TEST(ReadChat, ReadsEveryOption) {
  const TextOptions options =
      chat_with(
          R"("temperature": 0, "top_p": 0.5, "top_k": -1, "min_p": 0.1, "presence_penalty": -1,
        "frequency_penalty": 2, "repetition_penalty": 1.1, "logit_bias": {"7": -100, "8": 0.5},
        "seed": -1, "max_tokens": 3, "max_completion_tokens": 5, "stop": ["a", "b"], "n": 2,
        "stream": true, "stream_options": {"include_usage": true}, "logprobs": true,
        "top_logprobs": 4, "user": "someone", "store": true, "response_format": {"type": "text"},
        "modalities": ["text"], "unknown": [1])")
          .options;
  EXPECT_EQ(options.sampling.temperature, 0);
  EXPECT_EQ(options.sampling.top_p, 0.5);
  EXPECT_EQ(options.sampling.top_k, 0);
  EXPECT_EQ(options.sampling.min_p, 0.1);
  EXPECT_EQ(options.sampling.presence_penalty, -1);
  EXPECT_EQ(options.sampling.frequency_penalty, 2);
  EXPECT_EQ(options.sampling.repetition_penalty, 1.1);
  EXPECT_EQ(options.sampling.logit_bias, (std::map<int64_t, double>{{7, -100}, {8, 0.5}}));
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(options.max_tokens, 5);
  EXPECT_EQ(options.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.choices, 2);
  EXPECT_TRUE(options.streams);
  EXPECT_TRUE(options.includes_usage);
  EXPECT_EQ(options.logprobs, 4);
}

TEST(ReadChat, TakesNullForMissing) {
  const TextOptions options = chat_with(R"("temperature": null, "max_tokens": null, "stop": null,
      "tools": null, "response_format": null, "audio": null, "stream": null, "seed": null)")
                                  .options;
  EXPECT_EQ(options.sampling.temperature, 0.7);
  EXPECT_EQ(options.max_tokens, std::nullopt);
  EXPECT_TRUE(options.stop.empty());
}

TEST(ReadChat, ReadsNumbersOfBothKinds) {
  EXPECT_EQ(chat_with(R"("max_tokens": 5.0)").options.max_tokens, 5);
  EXPECT_EQ(chat_with(R"("temperature": 1)").options.sampling.temperature, 1);
  EXPECT_GT(chat_with(R"("top_p": 0)").options.sampling.top_p, 0);
  EXPECT_EQ(chat_with(R"("stop": "x")").options.stop, std::vector<std::string>{"x"});
}

TEST(ReadChat, NamesTheFieldThatIsWrong) {
  const struct {
    const char *field, *error;
  } kRows[] = {
      {R"("temperature": -1)",
       "temperature | 'temperature': expected a number of at least 0, got -1"},
      {R"("temperature": "hot")",
       "temperature | 'temperature': expected a number of at least 0, got the string \"hot\""},
      {R"("temperature": NaN)",
       "temperature | 'temperature': expected a number of at least 0, got the number nan"},
      {R"("temperature": Infinity)",
       "temperature | 'temperature': expected a number of at least 0, got the number inf"},
      {R"("top_p": 1.5)", "top_p | 'top_p': expected a number from 0 to 1, got the number 1.5"},
      {R"("top_k": -2)", "top_k | 'top_k': expected an integer of at least -1, got -2"},
      {R"("presence_penalty": 3)",
       "presence_penalty | 'presence_penalty': expected a number from -2 to 2, got 3"},
      {R"("max_tokens": 0)", "max_tokens | 'max_tokens': expected an integer of at least 1, got 0"},
      {R"("max_tokens": 1.5)",
       "max_tokens | 'max_tokens': expected an integer of at least 1, got the number 1.5"},
      {R"("max_tokens": 1e30)",
       "max_tokens | 'max_tokens': expected an integer of at least 1, got the number 1e+30"},
      {R"("max_completion_tokens": "5")",
       "max_completion_tokens | 'max_completion_tokens': expected an integer of at least 1, got "
       "the string \"5\""},
      {R"("seed": "x")", "seed | 'seed': expected an integer, got the string \"x\""},
      {R"("n": 0)", "n | 'n': expected an integer from 1 to 128, got 0"},
      {R"("n": 129)", "n | 'n': expected an integer from 1 to 128, got 129"},
      {R"("stream": 1)", "stream | 'stream': expected true or false, got 1"},
      {R"("stream_options": true)",
       "stream_options | 'stream_options': expected an object, got true"},
      {R"("stream_options": {"include_usage": 1})",
       "stream_options.include_usage | 'stream_options.include_usage': expected true or false, got "
       "1"},
      {R"("stop": "")", "stop | 'stop': expected texts that are not empty, got the string \"\""},
      {R"("stop": [1])", "stop | 'stop': expected texts that are not empty, got 1"},
      {R"("stop": 1)", "stop | 'stop': expected a list, got 1"},
      {R"("logit_bias": {"100": 1})",
       "logit_bias.100 | 'logit_bias.100': expected an id below 100 as key, got the string "
       "\"100\""},
      {R"("logit_bias": {"x": 1})",
       "logit_bias.x | 'logit_bias.x': expected an id below 100 as key, got the string \"x\""},
      {R"("logit_bias": {"1": 101})",
       "logit_bias.1 | 'logit_bias.1': expected a number from -100 to 100, got 101"},
      {R"("logprobs": true, "top_logprobs": 21)",
       "top_logprobs | 'top_logprobs': expected an integer from 0 to 20, got 21"},
      {R"("top_logprobs": 2)", "top_logprobs | 'top_logprobs': expected logprobs: true beside it"},
      {R"("response_format": {"type": "json_schema"})",
       "response_format.json_schema.schema | 'response_format.json_schema.schema': expected a JSON "
       "schema, got null"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}})",
       "response_format | 'response_format': json schema: #/not: the keyword is not supported"},
      {R"("response_format": {"type": "json_object"}, "guided_regex": "a")",
       "guided_regex | 'guided_regex': expected one grammar, got several"},
      {R"("guided_choice": ["a", 3])", "guided_choice | 'guided_choice': expected texts, got 3"},
      {R"("response_format": {"type": "xml"})",
       "response_format.type | 'response_format.type': expected text, json_object or json_schema, "
       "got the "
       "string \"xml\""},
      {R"("response_format": "text")",
       "response_format | 'response_format': expected an object, got the string \"text\""},
      {R"("modalities": ["text", "audio"])",
       "modalities | 'modalities': expected [\"text\"], got the string \"audio\""},
      {R"("audio": {"voice": "a"})", "audio | 'audio': not supported by this server"},
      {R"("functions": [])", "functions | 'functions': not supported by this server"},
      {R"("tools": {})", "tools | 'tools': expected a list, got an object"},
      {R"("tools": [1])", "tools[0] | 'tools[0]': expected an object, got 1"},
      {R"("tools": [{"type": "search"}])",
       "tools[0].type | 'tools[0].type': expected function, got the string \"search\""},
      {R"("tools": [{"function": {}}])",
       "tools[0].function | 'tools[0].function': expected an object with a name, got null"},
      {R"("tool_choice": "required")", "tool_choice | 'tool_choice': expected tools beside it"},
      {R"("tool_choice": {"type": "x"})",
       "tool_choice.type | 'tool_choice.type': expected function or allowed_tools, got the string "
       "\"x\""},
      {R"("tool_choice": {"function": {}})",
       "tool_choice.function | 'tool_choice.function': expected an object with a name, got null"},
      {R"("tool_choice": "required", "tools": [{"function": {"name": "f"}}], "guided_regex": "a")",
       "tool_choice | 'tool_choice': expected auto or none beside a grammar or a format"},
      {R"("tool_choice": "maybe")",
       "tool_choice | 'tool_choice': expected none, auto, required or an object, got the string "
       "\"maybe\""},
      {R"("chat_template_kwargs": {"messages": []})",
       "chat_template_kwargs.messages | 'chat_template_kwargs.messages': expected another "
       "variable"},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(error_of([&] { chat_with(row.field); }), row.error) << row.field;
}

TEST(ReadChat, NamesTheMessageThatIsWrong) {
  const struct {
    const char *messages, *error;
  } kRows[] = {
      {"[]", "messages | 'messages': expected at least one message, at most 100000, got 0"},
      {"5", "messages | 'messages': expected a list, got 5"},
      {"[5]", "messages[0] | 'messages[0]': expected an object, got 5"},
      {R"([{"content": "a"}])",
       "messages[0].role | 'messages[0].role': expected system, developer, user, assistant or "
       "tool, got null"},
      {R"([{"role": "me", "content": "a"}])",
       "messages[0].role | 'messages[0].role': expected system, developer, user, assistant or "
       "tool, got the string \"me\""},
      {R"([{"role": "user"}])",
       "messages[0].content | 'messages[0].content': expected a string or a list of parts, got "
       "null"},
      {R"([{"role": "user", "content": 5}])",
       "messages[0].content | 'messages[0].content': expected a string or a list of parts, got 5"},
      {R"([{"role": "user", "content": [5]}])",
       "messages[0].content[0] | 'messages[0].content[0]': expected an object, got 5"},
      {R"([{"role": "user", "content": [{"type": "text"}]}])",
       "messages[0].content[0].text | 'messages[0].content[0].text': expected a string, got null"},
      {R"([{"role": "user", "content": [{"type": "input_audio"}]}])",
       "messages[0].content[0].type | 'messages[0].content[0].type': expected text or image_url, "
       "got the string \"input_audio\""},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}])",
       "messages[0].content[0].image_url.url | 'messages[0].content[0].image_url.url': the model "
       "reads no images"},
      {R"([{"role": "assistant", "tool_calls": [{"id": "1"}]}])",
       "messages[0].tool_calls[0].function | 'messages[0].tool_calls[0].function': expected an "
       "object, got null"},
      {R"([{"role": "assistant", "tool_calls": [{"function": {"arguments": ""}}]}])",
       "messages[0].tool_calls[0].function.name | 'messages[0].tool_calls[0].function.name': "
       "expected a string, got null"},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(error_of([&] { chat("\"messages\": " + std::string(row.messages)); }), row.error)
        << row.messages;
  EXPECT_EQ(error_of([] { chat("\"n\": 1"); }),
            "messages | 'messages': expected a list of messages, got null");
}

TEST(ReadChat, ReadsRolesAndParts) {
  const std::vector<ChatMessage> messages = chat(R"("messages": [
      {"role": "developer", "content": "Be brief."},
      {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
        "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "42"},
      {"role": "assistant", "reasoning_content": "hm", "content": "done"}])")
                                                .messages;
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "a\nb");
  EXPECT_EQ(messages[1].more.text("name"), "Ann");
  EXPECT_EQ(messages[2].content, "");
  const auto& calls = std::get<Setting::List>(messages[2].more.find("tool_calls")->value);
  const Settings& function = *std::get<Settings>(calls[0].value).group("function");
  EXPECT_EQ(function.group("arguments")->integer("x"), 1);  // an object, as templates expect it
  EXPECT_EQ(messages[3].role, "tool");
  EXPECT_EQ(messages[3].more.text("tool_call_id"), "1");
  EXPECT_EQ(messages[4].more.text("reasoning_content"), "hm");
}

TEST(ReadChat, KeepsArgumentsThatAreNotJson) {
  const ChatMessage message = chat(R"("messages": [{"role": "assistant", "tool_calls":
      [{"function": {"name": "f", "arguments": "x="}}]}])")
                                  .messages[0];
  const auto& calls = std::get<Setting::List>(message.more.find("tool_calls")->value);
  EXPECT_EQ(std::get<Settings>(calls[0].value).group("function")->text("arguments"), "x=");
}

TEST(ReadChat, HandsToolsAndVariablesToTheTemplate) {
  const std::string tool = R"("tools": [{"type": "function", "function": {"name": "f"}}])";
  EXPECT_EQ(chat_with(tool).layout.tools.size(), 1u);
  EXPECT_EQ(chat_with(tool + R"(, "tool_choice": "auto")").layout.tools.size(), 1u);
  EXPECT_TRUE(chat_with(tool + R"(, "tool_choice": "none")").layout.tools.empty());
  const ChatOptions layout = chat_with(R"("reasoning_effort": "low",
      "chat_template_kwargs": {"enable_thinking": false})")
                                 .layout;
  EXPECT_EQ(layout.more.text("reasoning_effort"), "low");
  EXPECT_FALSE(layout.more.flag_or("enable_thinking", true));
}

std::string image_message(const std::string& url) {
  return R"("messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "image_url", "image_url": {"url": ")" +
         url + R"("}}]}])";
}

TEST(ReadChat, DecodesImagesOfDataUrls) {
  RequestLimits limits = kLimits;
  limits.reads_images = true;
  const std::string file = read_file(std::string(WICK_GOLDEN) + "/images/rgb.png");
  const std::vector<ChatMessage> messages =
      chat(image_message("data:image/png;base64," + to_base64(file)), limits).messages;
  ASSERT_EQ(messages[0].images.size(), 1u);
  EXPECT_EQ(*messages[0].images[0], decode_image(file, "image"));
  EXPECT_EQ(messages[0].content, "a");
  const std::string name = "messages[0].content[1].image_url.url | '";
  for (const char* url : {"http://example.org/a.png", "data:image/png,abc", "file:///etc/passwd"})
    EXPECT_NE(
        error_of([&] { chat(image_message(url), limits); }).find("this server fetches nothing"),
        std::string::npos)
        << url;
  EXPECT_NE(error_of([&] { chat(image_message("data:;base64,AAA"), limits); }).find("base64"),
            std::string::npos);
  EXPECT_EQ(error_of([&] {
              chat(image_message("data:;base64,AAAA"), limits);
            }).rfind("messages[0].content[1].image_url.url | ", 0),
            0u);
}

TEST(ReadCompletion, ReadsPromptsOfEveryKind) {
  const auto prompts = [](const std::string& prompt) {
    return completion("\"prompt\": " + prompt).prompts;
  };
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(prompts(R"("a")"), (std::vector<PromptInput>{"a"}));
  EXPECT_EQ(prompts(R"(["a", "b"])"), (std::vector<PromptInput>{"a", "b"}));
  EXPECT_EQ(prompts("[1, 2]"), (std::vector<PromptInput>{Ids{1, 2}}));
  EXPECT_EQ(prompts("[[1, 2], [3]]"), (std::vector<PromptInput>{Ids{1, 2}, Ids{3}}));
  EXPECT_EQ(completion(R"("prompt": "")").options.max_tokens, 16);  // OpenAI's default
  EXPECT_EQ(completion(R"("prompt": "", "logprobs": 3)").options.logprobs, 3);
}

TEST(ReadCompletion, NamesTheFieldThatIsWrong) {
  const struct {
    const char *fields, *error;
  } kRows[] = {
      {"",
       "prompt | 'prompt': expected a text, a list of texts, a list of ids or a list of such "
       "lists, got null"},
      {R"("prompt": [])",
       "prompt | 'prompt': expected a text, a list of texts, a list of ids or a list of such "
       "lists, got a list"},
      {R"("prompt": [1, "a"])",
       "prompt | 'prompt': expected ids from 0 to 99, got the string \"a\""},
      {R"("prompt": [100])", "prompt | 'prompt': expected ids from 0 to 99, got 100"},
      {R"("prompt": ["a", []])",
       "prompt[1] | 'prompt[1]': expected a text or a list of ids, got a list"},
      {R"("prompt": "a", "suffix": "b")",
       "suffix | 'suffix': texts before a suffix are not supported"},
      {R"("prompt": "a", "best_of": 3)",
       "best_of | 'best_of': expected the value of n, or nothing"},
      {R"("prompt": "a", "echo": true, "logprobs": 1)",
       "echo | 'echo': logprobs of a prompt are not supported"},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(error_of([&] { completion(row.fields); }), row.error) << row.fields;
}

TEST(ParseBody, RefusesTextsThatAreNotAnObject) {
  for (const char* text : {"", "{", "[]", "5", "{\"a\": }", "{} {}", "{\"a\": \"\xff\"}"})
    EXPECT_NE(error_of([&] { parse_body(text); }), "no error") << text;
  const auto nested = [](int levels) {
    return "{\"a\": " + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(error_of([&] { parse_body(nested(127)); }), "no error");
  EXPECT_NE(error_of([&] { parse_body(nested(128)); }).find("128 nested"), std::string::npos);
  EXPECT_NE(error_of([&] { parse_body(nested(1'000'000)); }).find("128 nested"), std::string::npos);
  EXPECT_EQ(error_of([&] { parse_body("{\"a\": \"\\\"" + std::string(1000, '[') + "\"}"); }),
            "no error");
}

}  // namespace
}  // namespace wick::serve
