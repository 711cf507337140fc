// wick logits: writes the logits after each token of a list to a safetensors file.
#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "model.h"
#include "paths.h"
#include "wick/io/safetensors.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  std::string tokens, out;
};

std::vector<int64_t> parse_ids(const std::string& text) {
  std::vector<int64_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    int64_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || (next != end && *next != ','))
      fail_input("--tokens", "expected ids of at least 0 with commas between, got ", text);
    ids.push_back(id);
    if (next == end) return ids;
    at = next + 1;
  }
}

void write_logits(const Options& options) {
  const std::vector<int64_t> ids = parse_ids(options.tokens);
  const int64_t count = int64_t(ids.size());
  require_place(options.out, options.model.path, true);
  const LanguageModel model = open_model(options.model, {.positions = count});
  const int64_t vocab_size = model.facts().vocab_size;
  for (const int64_t id : ids)
    if (id >= vocab_size)
      fail_input("--tokens", "id ", id, " is outside a vocabulary of ", vocab_size);
  const NoGrad off;
  const Device device = model.model->options().device;
  const Tensor logits = model.model->forward(Tensor::from(ids, {1, count}, device),
                                             positions_from_0(1, count, device));
  save_safetensors(options.out, {{"logits", cast(squeeze(logits, 0), DType::kF32)}});
}

}  // namespace

void add_logits(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("logits", "write the logits after each token to a safetensors file");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model);
  command->add_option("--tokens", o->tokens, "ids with commas between: 1,2,3")->required();
  command->add_option("-o,--out", o->out, "the file: logits [T, vocab_size] f32")->required();
  command->callback([o] {
    o->model.settle();
    write_logits(*o);
  });
}

}  // namespace wick::cli
