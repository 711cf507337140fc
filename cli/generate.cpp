// wick generate: continues a text and prints it as it arrives.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "input.h"
#include "model.h"
#include "ranges.h"
#include "terminal.h"
#include "wick/generate/generation.h"
#include "wick/io/json.h"
#include "wick/text/grammar.h"
#include "writing.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  SamplingFlags sampling;
  std::optional<std::string> prompt;
  std::vector<std::string> images;
  int64_t max_tokens = GenerationOptions().max_tokens.value();
  std::optional<std::string> grammar, json_schema;  // files
  std::optional<std::string> regex;
  bool json = false;
};

/// The grammar of the flags, if there is one.
std::optional<Grammar> grammar_of(const Options& options) {
  if (options.regex) return Grammar::regex(*options.regex);
  if (const auto& file = options.json_schema)
    return Grammar::json_schema(parse_json_value(read_input(*file), *file), *file);
  if (options.grammar) return Grammar::gbnf(read_input(*options.grammar), *options.grammar);
  return {};
}

/// The text to continue: -p, else the file or stdin without a newline at its end.
std::string prompt_of(const Options& options) {
  if (options.prompt) return *options.prompt;
  const std::string& file = options.model.files.front();
  if (file.empty() && is_terminal(STDIN_FILENO))
    std::fputs("the text to continue; Ctrl-D ends it\n", stderr);
  std::string text = read_input(file);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void generate(const Options& options) {
  if (!options.prompt && std::count(options.images.begin(), options.images.end(), "-") > 0)
    fail_input("--image", "expected -p beside an image from stdin");
  const std::optional<Grammar> grammar = grammar_of(options);
  const std::string text = prompt_of(options);
  const std::vector<Image> images = read_images(options.images);
  const LanguageModel model = open_model(options.model);
  require_continuation(model, options.model.path);
  require_tokenizer(model, options.model.path);
  if (!images.empty()) require_images(model, options.model.path);
  const Prompt prompt = model.prompt(text, images);
  if (prompt.ids.empty()) fail_input("--prompt", "expected a text, got nothing");
  const uint64_t seed = start_sampling(options.sampling, model);
  const SessionOptions session{.capacity = options.model.context,
                               .kv = options.model.cache(),
                               .sampling = sampling_of(options.sampling, model),
                               .seed = seed};

  const InterruptWatch watch;
  if (!options.json) print_text(images.empty() ? text : text + "\n");
  TextPrinter printer;
  const GeneratedText result = printer.run([&] {
    Generation generation(model, prompt.ids,
                          {.max_tokens = options.max_tokens,
                           .stop = options.sampling.stop,
                           .grammar = grammar,
                           .skip_special = false,
                           .slide = true,
                           .pixel_values = prompt.pixel_values,
                           .interrupted = &InterruptWatch::asked},
                          session);
    return options.json ? generation.finish() : generation.finish(std::ref(printer));
  });
  end_text(options.json ? json_line(result, text, seed) : "");
  std::fprintf(stderr, "%s\n", rates_text(result).c_str());
  if (InterruptWatch::asked()) throw Interrupted();
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "continue a text, printed as it is generated");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model,
                  {.most = 1,
                   .description = "a file with the text to continue (default: stdin)",
                   .text_flag = "-p"});
  command->add_option("-p,--prompt", o->prompt, "the text to continue, instead of a file's");
  add_image_flag(*command, o->images, "an image that the text is about");
  command->add_option("--max-tokens", o->max_tokens, "the number of tokens to generate")
      ->check(integer_from(1))
      ->capture_default_str();
  add_cache_flag(*command, o->model);
  add_sampling_flags(*command, o->sampling);
  const auto grammar =
      command
          ->add_option("--grammar", o->grammar, "a file with a GBNF grammar that the text follows")
          ->type_name("FILE");
  const auto json_schema =
      command
          ->add_option("--json-schema", o->json_schema,
                       "a file with a JSON Schema; the text is a value that it allows")
          ->type_name("FILE")
          ->excludes(grammar);
  command->add_option("--regex", o->regex, "a regular expression that the whole text matches")
      ->excludes(grammar)
      ->excludes(json_schema);
  command->add_flag("--json", o->json, "print one line of JSON at the end");
  command->footer(
      "Examples:\n"
      "  wick generate model.gguf -p \"Once upon a time\"\n"
      "  wick generate folder -p \"def fibonacci(n):\" --temperature 0 --max-tokens 64\n"
      "  wick generate folder -p \"Is the sky blue? \" --regex \"yes|no\"\n"
      "  wick generate paligemma-folder --image cat.jpg -p \"caption en\"");
  command->callback([o] {
    o->model.settle();
    generate(*o);
  });
}

}  // namespace wick::cli
