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
#include "wick/ops/shape.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  std::vector<std::string> texts, images;
};

Setting::List list_of(const Tensor& vector) {
  const std::vector<float> values = vector.to_vector<float>();
  return Setting::List(values.begin(), values.end());
}

/// Prints the embedding of a text or an image: a vector [D], or one for each token, [tokens, D].
/// kind: "text" or "image".
void print(const char* kind, const std::string& item, const Tensor& embedding, bool is_of_tokens) {
  Settings line;
  line.set(kind, item);
  if (is_of_tokens) {
    Setting::List rows;
    for (int64_t row = 0; row < embedding.size(0); row++)
      rows.push_back(list_of(select(embedding, 0, row)));
    line.set("embeddings", std::move(rows));
  } else {
    line.set("embedding", list_of(embedding));
  }
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

/// How a model embeds a text and an image.
struct Embedder {
  std::function<Tensor(const std::string&)> text;
  std::function<Tensor(const Image&)> image;
  bool is_of_tokens = false;
};

void embed_all(const Options& options, const Embedder& embedder) {
  const InterruptWatch watch;
  for_each_text(options, [&](const std::string& text) {
    print("text", text, embedder.text(text), embedder.is_of_tokens);
  });
  for (const std::string& file : options.images) {
    const Image image = read_image_input(file == "-" ? "" : file);
    print("image", file, embedder.image(image), embedder.is_of_tokens);
  }
}

void embed(const Options& options) {
  if (has_token_embeddings(options.model)) {
    const LanguageModel model = open_model(options.model);
    require_tokenizer(model, options.model.path);
    if (!options.images.empty()) require_images(model, options.model.path);
    return embed_all(options, {[&](const std::string& text) { return model.embed_query(text); },
                               [&](const Image& image) { return model.embed_image(image); }, true});
  }
  if (!options.images.empty() || kind_of(options.model) == ModelKind::kImageText) {
    const LoadedImageText model = open_image_text(options.model);
    if (!options.images.empty()) require_image_processor(model, options.model.path);
    return embed_all(options, {[&](const std::string& text) { return model.embed_texts({text}); },
                               [&](const Image& image) {
                                 return model.embed_images({&image, 1});
                               }});
  }
  const LanguageModel model = open_model(options.model);
  require_tokenizer(model, options.model.path);
  embed_all(options, {[&](const std::string& text) { return model.embed(text); }, {}});
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
                   "PNG, JPEG or WebP files, for a model that reads images (SigLIP, CLIP, ColPali)")
      ->expected(1, int(kMaxCounted));
  command->footer(
      "Examples:\n"
      "  wick embed folder --text \"a text\" --text \"another\"\n"
      "  wick embed model.gguf lines.txt > embeddings.jsonl\n"
      "  wick embed siglip-folder --image *.jpg\n"
      "A ColPali embeds a text as a query, and gives a vector for each token of a query or an "
      "image: "
      "a list\n\"embeddings\".");
  command->callback([o] {
    o->model.settle();
    embed(*o);
  });
}

}  // namespace wick::cli
