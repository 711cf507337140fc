// A server whose answers call tools. A choice of one text holds the model to an answer that is
// known.
#pragma once
#include "byte_model.h"
#include "client.h"
#include "wick/serve/server.h"

namespace wick::test {

/// A server of a model that calls as Hermes and Qwen do. It answers with a text of the request.
struct ToolServer {
  explicit ToolServer(const std::string& more = "")
      : ToolServer(byte_model(4096, "{# <tool_call> arguments <think> #}" + more)) {}
  explicit ToolServer(const LanguageModel& model) : server(model, options()) { server.start(); }
  static ServerOptions options() {
    ServerOptions options;
    options.port = 0;
    options.names = {"bytes"};
    options.engine.capacity = 1024;
    return options;
  }
  Answer post(const std::string& fields) {
    return ask(server.port(), "POST", "/v1/chat/completions",
               R"({"messages": [{"role": "user", "content": "Hi"}], )" + fields + "}");
  }
  /// The answer is this text.
  Answer answer(const std::string& text, const std::string& more) {
    return post("\"guided_choice\": " + to_json(Setting(Setting::List{text}), -1) + ", " + more);
  }
  /// The same by the API of responses.
  Answer respond(const std::string& fields) {
    return ask(server.port(), "POST", "/v1/responses", R"({"input": "Hi", )" + fields + "}");
  }
  Answer response(const std::string& text, const std::string& more) {
    return respond("\"guided_choice\": " + to_json(Setting(Setting::List{text}), -1) + ", " + more);
  }
  Server server;
};

inline const Setting::List& list(const Settings& settings, std::string_view key) {
  return std::get<Setting::List>(settings.find(key)->value);
}
inline const Settings& object(const Setting::List& list, size_t index) {
  return std::get<Settings>(list.at(index).value);
}
}  // namespace wick::test
