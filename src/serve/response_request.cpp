// The request of OpenAI's API of responses, without state: the conversation is in it.
#include "serve/requests.h"

namespace wick::serve {
namespace {

/// Refuses fields that refer to answers and settings which OpenAI's servers keep.
void refuse_state(const Fields& body) {
  for (const char* key : {"previous_response_id", "conversation", "prompt"})
    if (body.find(key))
      fail_unsupported(key, "this server keeps nothing; send the whole conversation in input");
  for (const char* key : {"store", "background"})
    if (body.flag(key).value_or(false))
      fail_unsupported(key, "this server keeps nothing; expected false");
}

bool includes_logprobs(const Fields& body) {
  if (const Setting::List* include = body.list("include"))
    for (const Setting& item : *include)
      if (const std::string* text = std::get_if<std::string>(&item.value);
          text && *text == "message.output_text.logprobs")
        return true;
  return false;
}

}  // namespace

ChatRequest read_response(const Fields& body, const RequestLimits& limits) {
  refuse_state(body);
  ChatRequest request;
  TextOptions& options = request.options;
  options = read_options(body, limits);
  options.choices = 1;
  options.max_tokens = body.integer("max_output_tokens", 1);
  constexpr int64_t kMaxLogprobs = 20;
  const int64_t top = body.integer("top_logprobs", 0, kMaxLogprobs).value_or(0);
  if (includes_logprobs(body)) options.logprobs = top;
  if (const auto text = body.object("text"))
    if (const auto format = text->object("format")) read_format(*format, format, options);
  request.messages = read_input(body, limits);
  read_layout(body, ToolForm::kResponse, request);
  return request;
}

}  // namespace wick::serve
