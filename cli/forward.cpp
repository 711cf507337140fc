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

NamedTensors outputs_of(const Options& options, const NamedTensors& inputs) {
  const ForwardOptions forward_options{.hidden = options.hidden};
  if (kind_of(options.model) == ModelKind::kImageText)
    return forward(*open_image_text(options.model).model, inputs, forward_options);
  int64_t longest = 0;
  for (const auto& [name, tensor] : inputs)
    if (tensor.rank() >= 2) longest = std::max(longest, tensor.size(1));
  return forward(*open_model(options.model, {.positions = longest}).model, inputs, forward_options);
}

void run(const Options& options) {
  require_place(options.out, options.model.path, true);
  require_place(options.out, options.in, true);
  const NamedTensors inputs = reading_input([&] { return load_safetensors(options.in); });
  const NoGrad off;
  NamedTensors outputs = reading_input([&] { return outputs_of(options, inputs); });
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
          "pixel_values [N, 3, H, W], for SigLIP and CLIP with or without input_ids")
      ->required();
  command
      ->add_option("-o,--out", o->out,
                   "the safetensors file to write, in f32: logits [B, T, vocab_size]; of ColPali "
                   "embeddings [B, T, D]; of SigLIP and CLIP image_embeds [N, D], text_embeds [B, "
                   "D], logits_per_image [N, B]")
      ->required();
  command->add_flag("--hidden", o->hidden,
                    "also last_hidden_state and hidden_states.I [B, T, hidden_size]: what layer I "
                    "reads, the last one after the final norm; of SigLIP and CLIP both for each "
                    "tower, as vision_model_output.hidden_states.I");
  command->footer(
      "Example:\n  wick forward -m folder --in batch.safetensors -o logits.safetensors");
  command->callback([o] {
    o->model.settle();
    run(*o);
  });
}

}  // namespace wick::cli
