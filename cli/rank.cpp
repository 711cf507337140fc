// wick rank: images in the order in which they fit a text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "input.h"
#include "model.h"
#include "ranges.h"
#include "wick/io/json.h"

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

/// The files in their order. One image at a time is in memory.
std::vector<Ranked> scored(const Options& options) {
  const LoadedImageText model = open_image_text(options.model);
  require_image_processor(model, options.model.path);
  const Tensor query = model.embed_texts({options.model.text});
  std::vector<Ranked> result;
  for (const std::string& file : options.model.files) {
    const Image image = read_image_input(file);
    const Tensor score = model.scores(query, model.embed_images({&image, 1}));
    result.push_back({file.empty() ? "-" : file, score.item<float>()});
  }
  return result;
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
      "CLIP\ntheir cosine times the model's scale.\n"
      "Example:\n  wick rank siglip-folder \"a red bicycle\" *.jpg");
  command->callback([o] {
    o->model.settle();
    rank(*o);
  });
}

}  // namespace wick::cli
