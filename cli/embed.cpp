// wick embed: the embeddings of texts.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "input.h"
#include "model.h"
#include "ranges.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  std::vector<std::string> texts;
};

void print(const LanguageModel& model, const std::string& text) {
  const std::vector<float> values = model.embed(text).to_vector<float>();
  Settings line;
  line.set("text", text).set("embedding", Setting::List(values.begin(), values.end()));
  std::printf("%s\n", to_json(line, -1).c_str());
  std::fflush(stdout);
}

void embed(const Options& options) {
  const LanguageModel model = open_model(options.model);
  require_tokenizer(model, options.model.path);
  const InterruptWatch watch;
  const auto next = [&](const std::string& text) {
    print(model, text);
    if (InterruptWatch::asked()) throw Interrupted();
  };
  for (const std::string& text : options.texts) next(text);
  if (!options.texts.empty()) return;
  for (const std::string& file : options.model.files)
    for_each_line(file, [&](const std::string& line, const std::string&) { next(line); });
}

}  // namespace

void add_embed(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("embed", "the embeddings of texts: one line of JSON for each");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model,
                  {.most = size_t(kMaxCounted),
                   .description = "files whose lines are the texts (default: stdin)",
                   .text_flag = "--text"});
  command->add_option("--text", o->texts, "a text; may be repeated")->allow_extra_args(false);
  command->footer(
      "Examples:\n"
      "  wick embed folder --text \"a text\" --text \"another\"\n"
      "  wick embed model.gguf lines.txt > embeddings.jsonl");
  command->callback([o] {
    o->model.settle();
    embed(*o);
  });
}

}  // namespace wick::cli
