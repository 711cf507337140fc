// wick train: trains a byte model on texts.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "picture.h"
#include "printable.h"
#include "ranges.h"
#include "report.h"
#include "wick/core/numerics.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/train/training_run.h"

namespace wick::cli {
namespace {

struct Options {
  TrainingPlan plan;
  std::string config, out, resume, device = "auto";
  int64_t checkpoint_every = 0;
  double checkpoint_minutes = 10;
  bool deterministic = false, json = false;
};

// ---- options

/// The config from --config, or the default.
DecoderConfig config_of(const Options& options) {
  if (options.config.empty()) return byte_model_config(options.plan.context);
  if (!is_there(options.config)) fail_input(options.config, "no such file");
  DecoderConfig config = decoder_config(read_json(options.config));
  require_byte_model(config, options.plan.context, options.config);
  return config;
}

/// Options as the library's errors name them, and the flags for them.
constexpr struct {
  std::string_view option, flag;
} kFlags[] = {{"plan.rate", "--lr"}, {"TrainingRun::resume", "--resume"}};

/// Calls f, whose errors then name flags. A path before the reason stays.
template <class F>
void naming_flags(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    std::string text = error.what();
    const size_t reason = text.rfind(": ");
    for (const auto& [option, flag] : kFlags)
      if (const size_t at = text.find(option, reason); at != text.npos)
        text.replace(at, option.size(), flag);
    throw Error(error.code(), text);
  }
}

// ---- the folder

std::string picture_in(const std::string& folder) { return folder + "/loss.svg"; }

/// Tries all files of a save before the first step.
void require_space(const Training& training, const std::string& folder) {
  std::vector<FileSize> files = training.files(folder);
  files.push_back({picture_in(folder)});
  require_writable(files);
}

// ---- the start

void print_warning(const std::string& text) {
  std::fprintf(stderr, "wick: warning: %s\n", printable(text).c_str());
}

TrainingRun begin(const Options& options, const Device& device, const ProcessGroup& group) {
  if (!options.resume.empty())
    return TrainingRun::resume(
        options.resume, device,
        {.folder = options.out, .data = options.plan.data, .warn = print_warning, .group = group});
  if (options.plan.data.empty()) fail_input("--data", "expected a file or folder of text");
  if (options.out.empty()) fail_input("--out", "expected a folder for the model");
  TrainingPlan plan = options.plan;
  plan.config = config_of(options);
  return TrainingRun::start(plan, options.out, device, print_warning, group);
}

// ---- the run

std::string now(const Training& training, int64_t first, double seconds) {
  const auto& losses = training.history().train;
  const size_t count = std::min<size_t>(20, losses.size());
  double sum = 0;
  for (size_t i = losses.size() - count; i < losses.size(); i++) sum += double(losses[i]);
  const int64_t bytes =
      (training.steps_done() - first) * training.plan().batch * training.plan().context;
  return "loss " + decimal(sum / double(count), 4) + "  " +
         grouped(std::llround(double(bytes) / seconds)) + " bytes/s";
}

/// Trains to the end or until interrupted. Returns the time taken in seconds.
double train_with_progress(TrainingRun& run, const Options& options) {
  const int64_t first = run.training().steps_done();
  Progress progress(first, run.training().plan().steps);
  TrainingHooks hooks;
  const bool shows = run.training().group().rank() == 0;
  hooks.on_step = [&](Training& training) {
    const int64_t done = training.steps_done();
    if (!shows || !progress.due(done)) return;
    training.settle();
    progress.update(done, now(training, first, progress.seconds()));
  };
  hooks.on_validation = [&](const LossHistory::HeldOut& point) {
    if (shows)
      progress.note("step " + std::to_string(point.step) + ": held-out loss " +
                    decimal(point.loss, 4));
  };
  hooks.stop = [] {
    if (reader_gone()) InterruptWatch::ask();
    return InterruptWatch::asked();
  };
  hooks.checkpoint_every = options.checkpoint_every;
  hooks.checkpoint_minutes = options.checkpoint_minutes;
  run.train(hooks);
  return progress.seconds();
}

// ---- results

using Points = std::vector<std::pair<double, double>>;

Points train_points(const LossHistory& history) {
  // Averages enough steps per point for a curve of about 300 points.
  const size_t stride = 1 + history.train.size() / 300;
  Points points;
  for (size_t i = 0; i + stride <= history.train.size(); i += stride) {
    double sum = 0;
    for (size_t j = i; j < i + stride; j++) sum += double(history.train[j]);
    points.push_back({double(i) + double(stride) / 2, sum / double(stride)});
  }
  return points;
}

Points held_out_points(const LossHistory& history) {
  Points points;
  for (const LossHistory::HeldOut& point : history.held_out)
    points.push_back({double(point.step), point.loss});
  return points;
}

void save_picture(const std::string& path, const Training& training) {
  Picture picture{.title = "Loss of " + grouped(num_parameters(training.plan().config)) +
                           " weights in " + grouped(training.steps_done()) + " steps",
                  .x_label = "step",
                  .y_label = "loss, nats a byte"};
  picture.curves.push_back({"training", train_points(training.history())});
  picture.curves.push_back(
      {"held out", held_out_points(training.history()), Stroke::kLineWithDots});
  write_file(path, svg_of(picture));
}

void print_result(const Training& training, const std::string& folder) {
  const LossHistory& history = training.history();
  std::printf("%s", text_plot({{'*', "training loss, nats a byte", train_points(history)},
                               {'o', "held out", held_out_points(history)}})
                        .c_str());
  if (!history.held_out.empty()) {
    const double loss = history.held_out.back().loss;
    std::printf("held-out loss: %.4f nats a byte (%.4f bits)\n", loss, loss / std::log(2.0));
  }
  std::printf("saved in %s: model.safetensors, config.json, tokenizer.json, loss.svg, %s\n",
              folder.c_str(), kTrainingFile);
}

void print_json(const Training& training, const std::string& folder, double seconds,
                int64_t bytes) {
  const LossHistory& history = training.history();
  Settings s;
  s.set("folder", folder).set("steps", training.steps_done());
  s.set("parameters", num_parameters(training.plan().config));
  s.set("train_loss", history.train.empty() ? Setting() : Setting(double(history.train.back())));
  s.set("held_out_loss",
        history.held_out.empty() ? Setting() : Setting(history.held_out.back().loss));
  s.set("seconds", seconds).set("bytes_per_second", seconds > 0 ? double(bytes) / seconds : 0.0);
  s.set("interrupted", training.steps_done() < training.plan().steps);
  s.set("ranks", int64_t(training.group().world_size()));
  std::printf("%s\n", to_json(s, -1).c_str());
}

void print_start(const Training& training, const Corpus& corpus, const Device& device,
                 bool resumed) {
  const int ranks = training.group().world_size();
  std::fprintf(stderr, "%zu texts: %s bytes to learn from, %s held out; %s weights; %s%s%s\n",
               corpus.train.size(), grouped(corpus.train_bytes()).c_str(),
               grouped(corpus.held_out_bytes()).c_str(),
               grouped(num_parameters(training.plan().config)).c_str(), to_string(device).c_str(),
               ranks == 1 ? "" : (" on each of " + std::to_string(ranks) + " ranks").c_str(),
               resumed ? (", from step " + std::to_string(training.steps_done())).c_str() : "");
}

void train(const Options& options) {
  survive_readers();
  const ProcessGroup group = ProcessGroup::join();
  const bool is_first = group.rank() == 0;  // the rank that writes and prints
  const Device device = device_of_rank(options.device, group);
  set_deterministic(options.deterministic);
  TrainingRun run = begin(options, device, group);
  const Training& training = run.training();
  const Corpus& corpus = run.corpus();
  const TrainingPlan& plan = training.plan();
  const std::string& folder = run.folder();
  if (is_first) require_space(training, folder);
  const InterruptWatch watch;
  if (is_first) print_start(training, corpus, device, !options.resume.empty());

  const int64_t first = training.steps_done();
  const double seconds = train_with_progress(run, options);
  run.save();
  const bool interrupted = training.steps_done() < plan.steps;  // on one rank or more
  if (!is_first) {
    if (interrupted) throw Interrupted();
    return;
  }
  save_picture(picture_in(folder), training);
  if (interrupted)
    std::fprintf(stderr, "interrupted after step %lld of %lld; wick train --resume %s continues\n",
                 (long long)training.steps_done(), (long long)plan.steps, folder.c_str());
  const int64_t bytes = (training.steps_done() - first) * plan.batch * plan.context;
  if (options.json)
    print_json(training, folder, seconds, bytes);
  else if (!interrupted)
    print_result(training, folder);
  if (interrupted) throw Interrupted();
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "texts to a model of their bytes");
  const auto o = std::make_shared<Options>();
  TrainingPlan& plan = o->plan;
  CLI::Option* resume =
      command->add_option("--resume", o->resume,
                          "a folder that a run was saved in: goes on with it, to the same result");
  command->add_option("--data", plan.data, "text files, and folders of them");
  command->add_option("--out", o->out, "a folder for the model");
  // A resumed run has these from its file.
  const auto of_a_new_run = [&](CLI::Option* option) {
    option->capture_default_str()->excludes(resume);
  };
  of_a_new_run(command->add_option("--config", o->config,
                                   "a config.json; else one of 0.82 million weights"));
  of_a_new_run(command->add_option("--steps", plan.steps, "how many")->check(integer_from(1)));
  of_a_new_run(command->add_option("--batch", plan.batch, "sequences in a step, of all ranks")
                   ->check(integer_from(1)));
  of_a_new_run(command
                   ->add_option("--parts", plan.parts,
                                "of a rank's sequences, one after the other to save memory")
                   ->check(integer_from(1)));
  of_a_new_run(command->add_option("--context", plan.context, "bytes of a sequence")
                   ->check(integer_from(1)));
  of_a_new_run(
      command->add_option("--lr", plan.rate, "the highest learning rate; 0: 1 / hidden_size")
          ->check(real_from({})));
  of_a_new_run(
      command->add_option("--weight-decay", plan.optimizer.weight_decay, "of AdamW, on matrices")
          ->check(real_from({})));
  of_a_new_run(
      command->add_option("--seed", plan.seed, "of the first weights and the order of the texts")
          ->check(seed_range()));
  of_a_new_run(command
                   ->add_option("--valid-fraction", plan.valid_fraction,
                                "the part held out, at each text's end")
                   ->check(real_from({.highest = 1, .below_highest = true})));
  command->add_option("--device", o->device, "cpu, rocm[:N], cuda[:N], emu:32, emu:64 or auto")
      ->capture_default_str();
  command
      ->add_option("--checkpoint-every", o->checkpoint_every,
                   "steps between saves; 0: by time alone")
      ->check(integer_from(0))
      ->capture_default_str();
  command
      ->add_option("--checkpoint-minutes", o->checkpoint_minutes,
                   "minutes between saves; 0: by steps alone")
      ->check(real_from({}))
      ->capture_default_str();
  command->add_flag("--deterministic", o->deterministic,
                    "the same bits in every run on a card too, which takes longer");
  command->add_flag("--json", o->json, "one line of JSON when it is done");
  command->callback([o] { naming_flags([&] { train(*o); }); });
}

}  // namespace wick::cli
