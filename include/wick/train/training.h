// Training of a byte model: its plan, its steps and losses, and the file that holds them.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "wick/dist/process_group.h"
#include "wick/io/file.h"
#include "wick/models/decoder.h"
#include "wick/nn/optimizer.h"
#include "wick/train/data_parallel.h"

namespace wick {

/// The default model of bytes: 0.82 million weights in 4 layers of 128 with 4 heads. Tied
/// embeddings and the large initial deviation gave the lowest held-out losses.
///
/// context  the model's max_position_embeddings
WICK_API DecoderConfig byte_model_config(int64_t context = 128);

/// Errors: kInvalidArgument, under the name `where`, unless the config has a vocab_size of 256 (a
/// token per byte), is causal, and has at least `context` positions.
WICK_API void require_byte_model(const DecoderConfig& config, int64_t context,
                                 const std::string& where);

/// Everything that determines the result, to the bit on one kind of device.
struct WICK_API TrainingPlan {
  DecoderConfig config = byte_model_config();
  std::vector<std::string> data;  // paths of files, and of folders of files
  double valid_fraction = 0.1;    // the part held out, at each text's end
  uint64_t data_checksum = 0;     // Corpus::checksum; TrainingRun::start sets it
  int64_t steps = 1800;
  int64_t batch = 8;      // sequences in a step, of all ranks
  int64_t parts = 1;      // of each rank's sequences, computed one after the other to save memory
  int64_t context = 128;  // bytes in a sequence
  double rate = 0;        // the peak learning rate; 0: TrainingRun::start takes 1 / hidden_size
  uint64_t seed = 1;      // of the first weights and the order of the texts
  // Defaults for small models that read small texts many times: in 158 runs near the default
  // config, the held-out loss falls with weight decay up to about this value.
  AdamWSettings optimizer = {
      .beta2 = 0.98, .weight_decay = 0.7, .clip_norm = 1, .decays_vectors = false};
  /// Rises to `rate` in the first ninth of the steps, at most 200, then falls to 0.
  CosineRate schedule() const;
};

/// Errors: kOutOfMemory if the device's total memory is less than the minimum for weights,
/// gradients, averages and the activations that one of plan.parts saves on one of the ranks.
WICK_API void require_memory(const TrainingPlan& plan, const Device& device, int ranks = 1);

/// Losses in nats per byte.
struct LossHistory {
  std::vector<float> train;  // one per step
  struct HeldOut {
    int64_t step;  // the number of steps done
    double loss;
  };
  std::vector<HeldOut> held_out;
};

/// Parameters, optimizer and losses of a model in training. The next step is steps_done().
///
/// The ranks of a group train one model: each computes its sequences of every batch, and
/// DataParallel's share of the optimizer. All call the same functions; losses are the
/// whole batch's. They differ from one process's in rounding alone.
class WICK_API Training {
 public:
  /// Starts with random parameters, drawn from the seed of `plan`.
  /// Errors: kInvalidArgument if the ranks' plans differ.
  Training(const TrainingPlan& plan, const Device& device, const ProcessGroup& group = {});
  /// Resumes from a file written by save, of any number of ranks. Errors: kIo; kFormat, also if the
  /// file's checksum does not fit its contents; kInvalidArgument if the ranks' files differ.
  Training(const std::string& path, const Device& device, const ProcessGroup& group = {});

  const TrainingPlan& plan() const { return plan_; }
  const Decoder& decoder() const { return decoder_; }
  const ProcessGroup& group() const { return group_; }
  /// The losses already read: settle() reads the losses of all steps done.
  const LossHistory& history() const { return history_; }
  int64_t steps_done() const { return int64_t(history_.train.size() + pending_.size()); }
  /// The architectures of the devices that have computed steps ("x86-64-v4", "gfx1100", "gfx1100 in
  /// 2 ranks"), in order.
  const std::vector<std::string>& architectures() const { return architectures_; }
  /// The one that computes the next step.
  std::string architecture() const;
  /// Whether the run comes from a file of a version of wick that wrote neither checksums nor
  /// architectures.
  bool unchecked() const { return unchecked_; }

  /// Trains one step on ids [B, T] and targets [B * T], i64: the batch of all ranks, of which each
  /// computes its rows. Keeps the loss on the device.
  void step(const Tensor& ids, const Tensor& targets);
  /// Reads the losses kept on the device into the history, in order. Errors: kInvalidArgument if
  /// one is not finite, as a rate that is too high causes; it stays out of the history, and so do
  /// later ones.
  void settle();
  /// The mean loss per byte of the texts, in nats, on windows of plan().context bytes that overlap
  /// by half: each byte is scored once, after at least half a window of context where the text has
  /// it.
  double loss_of(const std::vector<std::string>& texts) const;
  /// Adds the loss of these texts to the history's held_out, and returns it.
  double validate(const std::vector<std::string>& texts);

  /// Writes everything needed to resume to FOLDER/training.safetensors, and next to it the model:
  /// model.safetensors, config.json and tokenizer.json. Each file appears under its name only when
  /// complete. Rank 0 writes; all ranks call it. Errors: kIo.
  void save(const std::string& folder);
  /// The files that save writes, with the sizes of their tensors at the end of the run.
  std::vector<FileSize> files(const std::string& folder) const;

 private:
  struct Saved;
  Training(const Saved& saved, const Device& device, const ProcessGroup& group);
  Training(const TrainingPlan& plan, Parameters parameters, const ProcessGroup& group);
  /// The loss of some rows of the batch, as a share of the batch's.
  Tensor loss_of_rows(const Tensor& ids, const Tensor& targets, int64_t first, int64_t count) const;

  TrainingPlan plan_;
  ProcessGroup group_;
  Parameters parameters_;
  Decoder decoder_;
  // One of the two, of one process and of several.
  std::unique_ptr<AdamW> optimizer_;
  std::unique_ptr<DataParallel> shared_optimizer_;
  Tensor positions_;  // [B, T]
  LossHistory history_;
  std::deque<Tensor> pending_;  // losses still on the device
  std::vector<std::string> architectures_;
  bool unchecked_ = false;
};

/// The name of the file that a Training resumes from, in the folder of save.
inline constexpr const char* kTrainingFile = "training.safetensors";

}  // namespace wick
