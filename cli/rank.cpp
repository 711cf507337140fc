// wick rank: images in the order in which they fit a text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "commands.h"
#include "input.h"
#include "model.h"
#include "ranges.h"
#include "wick/io/json.h"
#include "wick/models/late_interaction.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  bool json = false;
};

struct Ranked {
  std::string file;
  float score;
};

/// The files in their order. score_of: a tensor of one element. One image at a time is in memory.
std::vector<Ranked> scored_by(const Options& options,
                              const std::function<Tensor(const Image&)>& score_of) {
  std::vector<Ranked> result;
  for (const std::string& file : options.model.files) {
    const Tensor score = score_of(read_image_input(file));
    result.push_back({file.empty() ? "-" : file, score.item<float>()});
  }
  return result;
}

std::vector<Ranked> scored(const Options& options) {
  if (has_token_embeddings(options.model)) {
    const LanguageModel model = open_model(options.model);
    require_tokenizer(model, options.model.path);
    require_images(model, options.model.path);
    const Tensor query = model.embed_query(options.model.text);
    return scored_by(options, [&](const Image& image) {
      const Tensor vectors = model.embed_image(image);
      return late_interaction(query, {&vectors, 1});
    });
  }
  const LoadedImageText model = open_image_text(options.model);
  require_image_processor(model, options.model.path);
  const Tensor query = model.embed_texts({options.model.text});
  return scored_by(options, [&](const Image& image) {
    return model.scores(query, model.embed_images({&image, 1}));
  });
}

void rank(const Options& options) {
  std::vector<Ranked> images = scored(options);
  std::stable_sort(images.begin(), images.end(),
                   [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  for (const Ranked& image : images) {
    if (options.json) {
      Settings line;
      line.set("image", image.file).set("score", image.score);
      std::printf("%s\n", to_json(line, -1).c_str());
    } else {
      std::printf("%.6g\t%s\n", double(image.score), image.file.c_str());
    }
  }
}

}  // namespace

void add_rank(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "rank",
      "images in the order in which they fit a text: one line with score and file for each");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model,
                  {.most = size_t(kMaxCounted),
                   .description = "images: PNG, JPEG or WebP files",
                   .text = "the query, a text"});
  command->add_flag("--json", o->json, "print lines of JSON");
  command->footer(
      "The score of a SigLIP is the probability that text and image belong together, the score of "
      "a "
      "CLIP\ntheir cosine times the model's scale, the score of a ColPali the sum over the query's "
      "tokens of\nthe largest cosine with a token of the image.\n"
      "Examples:\n"
      "  wick rank siglip-folder \"a red bicycle\" *.jpg\n"
      "  wick rank colpali-folder \"sales by region\" page-*.png");
  command->callback([o] {
    o->model.settle();
    rank(*o);
  });
}

}  // namespace wick::cli
