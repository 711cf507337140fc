// wick embed: the embeddings of texts and images.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
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
  std::vector<std::string> texts, images;
};

/// Prints the embedding of a text or an image. kind: "text" or "image".
void print(const char* kind, const std::string& item, const Tensor& embedding) {
  const std::vector<float> values = embedding.to_vector<float>();
  Settings line;
  line.set(kind, item).set("embedding", Setting::List(values.begin(), values.end()));
  std::printf("%s\n", to_json(line, -1).c_str());
  std::fflush(stdout);
  if (InterruptWatch::asked()) throw Interrupted();
}

/// Calls f with each --text; without texts and images with each line of the files or stdin.
void for_each_text(const Options& options, const std::function<void(const std::string&)>& f) {
  for (const std::string& text : options.texts) f(text);
  const bool takes_stdin = options.texts.empty() && options.images.empty();
  for (const std::string& file : options.model.files)
    if (takes_stdin || !file.empty())
      for_each_line(file, [&](const std::string& line, const std::string&) { f(line); });
}

void embed_images_and_texts(const Options& options) {
  const LoadedImageText model = open_image_text(options.model);
  if (!options.images.empty()) require_image_processor(model, options.model.path);
  const InterruptWatch watch;
  for_each_text(options,
                [&](const std::string& text) { print("text", text, model.embed_texts({text})); });
  for (const std::string& file : options.images) {
    const Image image = read_image_input(file == "-" ? "" : file);
    print("image", file, model.embed_images({&image, 1}));
  }
}

void embed(const Options& options) {
  if (!options.images.empty() || kind_of(options.model) == ModelKind::kImageText)
    return embed_images_and_texts(options);
  const LanguageModel model = open_model(options.model);
  require_tokenizer(model, options.model.path);
  const InterruptWatch watch;
  for_each_text(options, [&](const std::string& text) { print("text", text, model.embed(text)); });
}

}  // namespace

void add_embed(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("embed", "the embeddings of texts or images: one line of JSON for each");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model,
                  {.most = size_t(kMaxCounted),
                   .description = "files whose lines are the texts (default: stdin)",
                   .text_flag = "--text"});
  command->add_option("--text", o->texts, "a text; may be repeated")->allow_extra_args(false);
  command
      ->add_option("--image", o->images,
                   "PNG, JPEG or WebP files, for a model that reads images (SigLIP, CLIP)")
      ->expected(1, int(kMaxCounted));
  command->footer(
      "Examples:\n"
      "  wick embed folder --text \"a text\" --text \"another\"\n"
      "  wick embed model.gguf lines.txt > embeddings.jsonl\n"
      "  wick embed siglip-folder --image *.jpg");
  command->callback([o] {
    o->model.settle();
    embed(*o);
  });
}

}  // namespace wick::cli
