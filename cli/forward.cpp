// wick forward: runs a model on the tensors of a file and writes those that it gives.
#include "wick/models/forward.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "model.h"
#include "paths.h"
#include "wick/io/safetensors.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  std::string in, out;
  bool hidden = false;
};

void run(const Options& options) {
  require_place(options.out, options.model.path, true);
  require_place(options.out, options.in, true);
  const NamedTensors inputs = reading_input([&] { return load_safetensors(options.in); });
  int64_t longest = 0;
  for (const auto& [name, tensor] : inputs)
    if (tensor.rank() >= 2) longest = std::max(longest, tensor.size(1));
  const LanguageModel model = open_model(options.model, longest);
  const NoGrad off;
  NamedTensors outputs =
      reading_input([&] { return forward(*model.model, inputs, {.hidden = options.hidden}); });
  for (auto& [name, tensor] : outputs) tensor = cast(tensor, DType::kF32);
  save_safetensors(options.out, outputs);
}

}  // namespace

void add_forward(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "forward", "run a model on a file's tensors and write those that it gives");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model);
  command
      ->add_option(
          "--in", o->in,
          "a safetensors file with input_ids [B, T], or inputs_embeds [B, T, hidden_size], "
          "and attention_mask [B, T] if there is padding; for a model that reads images also "
          "pixel_values")
      ->required();
  command
      ->add_option("-o,--out", o->out,
                   "the safetensors file to write: logits [B, T, vocab_size] f32")
      ->required();
  command->add_flag("--hidden", o->hidden,
                    "also last_hidden_state and hidden_states.I [B, T, hidden_size]: what layer I "
                    "reads, the last one after the final norm");
  command->footer(
      "Example:\n  wick forward -m folder --in batch.safetensors -o logits.safetensors");
  command->callback([o] {
    o->model.settle();
    run(*o);
  });
}

}  // namespace wick::cli
