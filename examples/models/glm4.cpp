// GLM-4 is offered a tool, and answers with its name and, on the next line, the arguments as JSON.
//
//   glm4 MODEL [-p QUESTION] [--device D] [--dtype T]
#include "example.h"

const char* const kWeather = R"({"type": "function", "function": {
  "name": "weather", "description": "The weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}})";

void glm4(Example& example) {
  const wick::LanguageModel model = example.load();
  wick::Chat chat(model, {.max_tokens = example.max_tokens(128),
                          .chat_template = {.tools = {wick::parse_json(kWeather, "weather")}},
                          .session = example.session(wick::default_session_options(model))});
  const std::string answer = chat.ask(example.prompt("Does it rain in Oslo?"), print).text;
  if (answer.find("weather\n") != std::string::npos) {
    // The model reads the tool's result and answers in words.
    print("\n");
    chat.ask({{"observation", R"({"rain": true, "celsius": 7})"}}, print);
  }
  example.result(chat.session());
}

int main(int argc, char** argv) { return run(argc, argv, glm4); }
