// Training of one model by the ranks of a group, each with a part of every batch.
#pragma once
#include <memory>

#include "wick/dist/process_group.h"
#include "wick/nn/optimizer.h"

namespace wick {

struct DataParallelOptions {
  int64_t bucket_bytes = int64_t(8) << 20;  // of gradients that are sent together
};

/// Sums the gradients of all ranks while backward runs, and makes AdamW's steps. Each rank keeps
/// the running averages of its share of the parameters alone, updates that share, and receives the
/// others' (Rajbhandari et al. 2019, arXiv:1910.02054: the first stage). All ranks end each step
/// with the same bits.
///
/// The same functions are called on all ranks, in the same order. A parameter without a gradient on
/// any rank has a gradient of zeros. Errors: as ProcessGroup's.
class WICK_API DataParallel {
 public:
  /// Copies the parameters of rank 0 to the others. parameters: the same names and shapes on all
  /// ranks. Errors: kInvalidArgument for a bucket_bytes below 1.
  DataParallel(const NamedVars& parameters, const AdamWSettings& settings, ProcessGroup group,
               const DataParallelOptions& options = {});
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// Adds the gradients of this rank's part of a batch to the Vars, as wick::backward does, and
  /// starts to sum them over the ranks as they are complete. Weight the losses so that their sum
  /// over the ranks is the loss of the batch. Other parts of the same batch, for which memory does
  /// not suffice at once, come before with wick::backward.
  ///
  /// loss  a scalar; an empty Tensor() on a rank whose part is empty
  void backward(const Tensor& loss);
  /// Makes one step with the sums, and clears the gradients. Errors: kInvalidArgument if backward
  /// was not called since the last one.
  void step(double rate);
  int64_t steps_done() const;

  /// The running averages of all parameters, from all ranks: AdamW::state.
  NamedTensors state() const;
  /// Restores a state() of AdamW or of any number of ranks. Errors: as AdamW::restore.
  void restore(const TensorSource& state, int64_t steps_done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wick
