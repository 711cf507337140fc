// Trains a small language model on the bytes of a text, as `wick train` does, and saves it in a folder
// that `wick generate`, `wick.load` and HuggingFace's transformers read.
//
//   train_text TEXT FOLDER [--device auto|cpu|rocm:0|cuda:0|emu:32] [--steps 300]
//
// The exit status is 1 if the model knows the held-out end of the text no better than before.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "wick/wick.h"

using namespace wick;

int train_text(const std::string& text, const std::string& folder, const Device& device,
               int64_t steps) {
  TrainingPlan plan;
  plan.data = {text};  // files, and folders of them; the last tenth of each is held out
  plan.steps = steps;
  plan.context = 64;  // bytes that the model sees at once
  plan.config = byte_model_config(plan.context);
  plan.config.num_hidden_layers = 2;

  TrainingRun run = TrainingRun::start(plan, folder, device);
  const double before = run.training().loss_of(run.corpus().held_out);
  std::printf("%lld weights, %lld bytes to learn from; held-out loss %.4f nats a byte\n",
              (long long)num_parameters(plan.config), (long long)run.corpus().train_bytes(),
              before);
  run.train({.on_validation = [](const LossHistory::HeldOut& held_out) {
    std::printf("step %4lld: held-out loss %.4f\n", (long long)held_out.step, held_out.loss);
  }});
  run.save();

  // The folder is a model as any other.
  const LanguageModel model = load_model(folder, {.device = device});
  Generation written(model, model.prompt_ids("The "), {.max_tokens = 200, .slide = true});
  while (const auto piece = written.next()) std::cout << *piece << std::flush;
  std::cout << "\n";
  return run.training().history().held_out.back().loss < before ? 0 : 1;
}

int main(int argc, char** argv) try {
  std::string device = "auto";
  int64_t steps = 300;
  bool is_understood = argc >= 3 && argc % 2 == 1;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--device")
      device = argv[i + 1];
    else if (flag == "--steps")
      steps = std::atoll(argv[i + 1]);
    else
      is_understood = false;
  }
  if (!is_understood)
    return std::fprintf(stderr, "train_text TEXT FOLDER [--device D] [--steps N]\n"), 2;
  return train_text(argv[1], argv[2], Device::parse(device), steps);
} catch (const std::exception& e) {
  std::fprintf(stderr, "train_text: %s\n", e.what());
  return 2;
}
