// A training run: what it was asked to do, how far it is, and the file that both are kept in.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/models/decoder.h"
#include "wick/nn/optimizer.h"

namespace wick::cli {

/// What decides the result, to the bit on one kind of device.
struct TrainingPlan {
  DecoderConfig config;
  std::vector<std::string> data;  // paths, absolute
  double valid_fraction = 0.1;
  uint64_t data_checksum = 0;
  int64_t steps = 1800, batch = 8, context = 128;
  double rate = 0;  // the highest
  uint64_t seed = 1;
  // Small models that read small texts many times: by 158 runs near the default config, the
  // held-out loss falls with a decay up to about here.
  AdamWSettings optimizer = {.beta1 = 0.9, .beta2 = 0.98, .weight_decay = 0.7};
  CosineRate schedule() const;
};

/// Errors: kOutOfMemory if the device has less memory in all than weights, gradients, averages and
/// what one step keeps for its gradients take at least.
void require_memory(const TrainingPlan& plan, const Device& device);

/// Losses in nats a byte.
struct History {
  std::vector<float> train;  // of each step
  struct HeldOut {
    int64_t step;
    double loss;
  };
  std::vector<HeldOut> held_out;
};

/// Parameters, optimizer and history; the next step is history.train.size().
class Training {
 public:
  /// Starts a new model, whose parameters are drawn from the seed of `plan`.
  Training(const TrainingPlan& plan, const Device& device);
  /// Goes on from a file that save wrote. Errors: kIo, kFormat.
  Training(const std::string& path, const Device& device);

  const TrainingPlan& plan() const { return plan_; }
  const Decoder& decoder() const { return decoder_; }
  int64_t steps_done() const { return int64_t(history.train.size() + pending_.size()); }

  /// Makes one step on ids [B, T] and their targets [B * T]. Its loss is noted on the device.
  void step(const Tensor& ids, const Tensor& targets);
  /// Brings the noted losses into the history. Errors: std::runtime_error if one is not finite.
  void settle();
  /// The mean loss over the texts' bytes.
  double loss_of(const std::vector<std::string>& texts) const;

  /// Writes all that resuming needs to one file, FOLDER/training.safetensors, and beside it the
  /// model: model.safetensors and config.json. Each gets its name when it is whole. Errors: kIo.
  void save(const std::string& folder);

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
  std::vector<Tensor> pending_;  // losses that are still on the device
};

inline constexpr const char* kTrainingFile = "training.safetensors";

}  // namespace wick::cli
