// A training run: its plan, its progress, and the file that holds both.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/io/file.h"
#include "wick/models/decoder.h"
#include "wick/nn/optimizer.h"

namespace wick::cli {

/// Everything that determines the result, to the bit on one kind of device.
struct TrainingPlan {
  DecoderConfig config;
  std::vector<std::string> data;  // paths, absolute
  double valid_fraction = 0.1;
  uint64_t data_checksum = 0;
  int64_t steps = 1800, batch = 8, context = 128;
  double rate = 0;  // peak learning rate
  uint64_t seed = 1;
  // Defaults for small models that read small texts many times: in 158 runs near the default
  // config, the held-out loss falls with weight decay up to about this value.
  AdamWSettings optimizer = {
      .beta2 = 0.98, .weight_decay = 0.7, .clip_norm = 1, .decays_vectors = false};
  CosineRate schedule() const;
};

/// Errors: kOutOfMemory if the device's total memory is less than the minimum for weights,
/// gradients, averages and the activations that one step saves.
void require_memory(const TrainingPlan& plan, const Device& device);

/// Losses in nats per byte.
struct History {
  std::vector<float> train;  // one per step
  struct HeldOut {
    int64_t step;
    double loss;
  };
  std::vector<HeldOut> held_out;
};

/// Parameters, optimizer and history. The next step is history.train.size().
class Training {
 public:
  /// Starts a new run with random parameters, drawn from the seed of `plan`.
  Training(const TrainingPlan& plan, const Device& device);
  /// Resumes from a file written by save. Errors: kIo; kFormat, also if the file's checksum is not
  /// that of its contents.
  Training(const std::string& path, const Device& device);

  const TrainingPlan& plan() const { return plan_; }
  const Decoder& decoder() const { return decoder_; }
  int64_t steps_done() const { return int64_t(history.train.size() + pending_.size()); }
  /// The architectures of the devices that have computed steps ("x86-64-v4", "gfx1100"), in order.
  const std::vector<std::string>& architectures() const { return architectures_; }
  /// Whether the run comes from a file of a version of wick that wrote neither checksums nor
  /// architectures.
  bool unchecked() const { return unchecked_; }

  /// Trains one step on ids [B, T] and targets [B * T]. Keeps the loss on the device.
  void step(const Tensor& ids, const Tensor& targets);
  /// Reads the losses kept on the device into the history. Errors: std::runtime_error if one is not
  /// finite.
  void settle();
  /// The mean loss per byte of the texts.
  double loss_of(const std::vector<std::string>& texts) const;

  /// Writes everything needed to resume to FOLDER/training.safetensors, and next to it the model:
  /// model.safetensors, config.json and tokenizer.json. Each file appears under its name only when
  /// complete. Errors: kIo.
  void save(const std::string& folder);
  /// The files that save writes, with the sizes of their tensors at the end of the run.
  std::vector<FileSize> files(const std::string& folder) const;

  History history;

 private:
  struct Saved;
  Training(const Saved& saved, const Device& device);
  Training(const TrainingPlan& plan, Parameters parameters);

  TrainingPlan plan_;
  Parameters parameters_;
  Decoder decoder_;
  AdamW optimizer_;
  Tensor positions_;             // [B, T]
  std::vector<Tensor> pending_;  // losses still on the device
  std::vector<std::string> architectures_;
  bool unchecked_ = false;
};

inline constexpr const char* kTrainingFile = "training.safetensors";

}  // namespace wick::cli
