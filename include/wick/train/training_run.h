// A training run in a folder: started or resumed, trained step by step, saved.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wick/train/corpus.h"
#include "wick/train/training.h"

namespace wick {

/// Called with a sentence that the user should see; the run goes on.
using WarningHook = std::function<void(const std::string&)>;

struct ResumeOptions {
  std::string folder = {};             // to save in; empty: the folder resumed from
  std::vector<std::string> data = {};  // where the texts are now; empty: plan().data
  WarningHook warn = {};
  ProcessGroup group = {};
};

struct TrainingHooks {
  /// Called after each step, before it is validated and saved. settle() reads its loss.
  std::function<void(Training&)> on_step = {};
  /// Called when the held-out loss has been computed.
  std::function<void(const LossHistory::HeldOut&)> on_validation = {};
  /// Asked before the first step and after each; true, on one rank or more, ends the run, which
  /// can be resumed.
  std::function<bool()> stop = {};
  int64_t checkpoint_every = 0;    // steps between saves; 0: by time alone
  double checkpoint_minutes = 10;  // minutes between saves; 0: by steps alone. Rank 0's counts
};

/// A Training with its texts and a lock on its folder. A resumed run ends with the model that an
/// uninterrupted one would have produced, byte for byte, if all steps run on one architecture in
/// one number of ranks.
///
/// The ranks of a group call the same functions with the same arguments: all read the texts, and
/// the file of a resumed run; rank 0 alone locks the folder and writes.
class WICK_API TrainingRun {
 public:
  /// Starts a run, and makes the folder if it is missing. Completes `plan`: rate 0, data_checksum,
  /// absolute paths, config.dtype.
  /// Errors: kInvalidArgument if the folder holds a model or another run trains there, for bad
  /// texts (read_corpus, ByteBatches), or for a config that require_byte_model refuses;
  /// kOutOfMemory; kIo.
  static TrainingRun start(TrainingPlan plan, const std::string& folder, const Device& device,
                           const WarningHook& warn = {}, const ProcessGroup& group = {});
  /// Resumes the run that was saved in a folder. Warns if it cannot promise the bytes of an
  /// uninterrupted run.
  /// Errors: kInvalidArgument if there is nothing to resume, if the texts have changed, if
  /// options.folder is another one that holds a model, or if another run trains there; kFormat for
  /// a damaged file; kIo.
  static TrainingRun resume(const std::string& saved, const Device& device,
                            const ResumeOptions& options = {});
  TrainingRun(TrainingRun&&) noexcept;
  TrainingRun& operator=(TrainingRun&&) noexcept;
  /// Releases the folder. Saves nothing.
  ~TrainingRun();

  Training& training();
  const Corpus& corpus() const;
  const std::string& folder() const;

  /// Trains until plan().steps are done, or until hooks.stop says so, and computes the held-out
  /// loss eight times on the way. Returns whether all steps are done. Errors: as
  /// Training::settle and save; whatever a hook throws.
  bool train(const TrainingHooks& hooks = {});
  /// Writes the model and the state to the folder: Training::save.
  void save();

 private:
  struct State;
  explicit TrainingRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wick
