#include "wick/train/training_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "train/folder_lock.h"
#include "train/paths.h"
#include "wick/abi/backend.h"
#include "wick/base/error.h"

namespace wick {
namespace {

constexpr int64_t kValidations = 8;  // over the whole run

/// Refuses a folder whose model a run would overwrite.
void require_no_model(const std::string& folder) {
  const auto require = [&](bool good, const char* reason) {
    check(good, ErrorCode::kInvalidArgument, folder, reason);
  };
  require(!is_there(folder + "/" + kTrainingFile),
          "the folder already holds a model; TrainingRun::resume continues it");
  const std::string model = folder + "/model.safetensors";
  require(!is_there(model) || is_folder(model),
          "the folder already holds a model, which no training run has saved");
  require(!is_there(folder) || is_folder(folder), "expected a folder for the model, got a file");
}

/// Refuses texts that are too short. Errors: kInvalidArgument.
void require_enough(const Corpus& corpus, const TrainingPlan& plan) {
  const ByteBatches tried(corpus, plan.batch, plan.context, plan.seed);
}

void warn_of_other_bytes(const Training& training, const std::string& file,
                         const WarningHook& warn) {
  if (!warn) return;
  const std::string here = training.architecture();
  if (training.unchecked())
    warn(file + ": written by an older wick, without a checksum: damage is not noticed");
  for (const std::string& there : training.architectures())
    if (there != here)
      warn(file + ": steps were computed on " + there + ", this run is on " + here +
           ", which rounds differently, so the model will differ in its bytes from that of an "
           "uninterrupted run");
}

/// When the next checkpoint is due: after a number of steps, and after a time.
class Checkpoints {
 public:
  Checkpoints(int64_t steps, double minutes) : steps_(steps), seconds_(60 * minutes) {}
  bool due(int64_t steps_done) const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - last_;
    return (steps_ > 0 && steps_done % steps_ == 0) || (seconds_ > 0 && passed.count() >= seconds_);
  }
  void saved() { last_ = std::chrono::steady_clock::now(); }

 private:
  int64_t steps_;
  double seconds_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

struct TrainingRun::State {
  std::string folder;
  Corpus corpus;
  std::optional<FolderLock> lock;
  std::optional<Training> training;
};

TrainingRun::TrainingRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrainingRun::TrainingRun(TrainingRun&&) noexcept = default;
TrainingRun& TrainingRun::operator=(TrainingRun&&) noexcept = default;
TrainingRun::~TrainingRun() = default;

TrainingRun TrainingRun::start(TrainingPlan plan, const std::string& folder, const Device& device,
                               const WarningHook& warn, const ProcessGroup& group) {
  const auto require = [](bool good, const char* reason) {
    check(good, ErrorCode::kInvalidArgument, "train", reason);
  };
  require(!plan.data.empty(), "expected a file or folder of text in plan.data, got none");
  require(!folder.empty(), "expected a folder for the model, got an empty path");
  require(plan.steps >= 1 && plan.batch >= 1 && plan.context >= 1 && plan.parts >= 1,
          "expected steps, batch, context and parts of at least 1");
  require_byte_model(plan.config, plan.context, "train");
  plan.config.dtype = DType::kF32;
  if (plan.rate == 0) plan.rate = 1.0 / double(plan.config.hidden_size);
  const bool writes = group.rank() == 0;
  if (writes) require_no_model(folder);
  require_memory(plan, device, group.world_size());
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->corpus = read_corpus(plan.data, plan.valid_fraction);
  plan.data_checksum = state->corpus.checksum;
  for (std::string& path : plan.data) path = absolute_path(path);
  require_enough(state->corpus, plan);
  if (writes) {
    make_folder(folder);
    state->lock.emplace(folder, warn);
    require_no_model(folder);  // one that another run has saved since
  }
  state->training.emplace(plan, device, group);
  return TrainingRun(std::move(state));
}

TrainingRun TrainingRun::resume(const std::string& saved, const Device& device,
                                const ResumeOptions& options) {
  const std::string file = saved + "/" + kTrainingFile;
  check(is_there(file), ErrorCode::kInvalidArgument, file, "no such file, nothing to resume");
  auto state = std::make_unique<State>();
  const std::string& folder = state->folder = options.folder.empty() ? saved : options.folder;
  std::error_code error;
  const bool in_place = std::filesystem::equivalent(saved, folder, error);
  if (options.group.rank() == 0) {
    if (!in_place) {
      require_no_model(folder);
      make_folder(folder);
    }
    // Before the file is read, which another run may be about to replace.
    state->lock.emplace(folder, options.warn);
    if (!in_place) require_no_model(folder);
  }
  options.group.barrier();  // for the lock
  const Training& training = state->training.emplace(file, device, options.group);
  if (options.group.rank() == 0) warn_of_other_bytes(training, file, options.warn);
  const TrainingPlan& plan = training.plan();
  state->corpus = read_corpus(options.data.empty() ? plan.data : options.data, plan.valid_fraction);
  check(state->corpus.checksum == plan.data_checksum, ErrorCode::kInvalidArgument, saved,
        "the texts differ from those that the run started with");
  require_enough(state->corpus, plan);
  return TrainingRun(std::move(state));
}

Training& TrainingRun::training() { return *state_->training; }
const Corpus& TrainingRun::corpus() const { return state_->corpus; }
const std::string& TrainingRun::folder() const { return state_->folder; }

bool TrainingRun::train(const TrainingHooks& hooks) {
  Training& training = *state_->training;
  const TrainingPlan& plan = training.plan();
  const Device device = training.decoder().options().device;
  const ByteBatches batches(state_->corpus, plan.batch, plan.context, plan.seed);
  const int64_t every = std::max<int64_t>(1, plan.steps / kValidations);
  // Whether it is true on one rank or more.
  const auto agree = [&](bool here) {
    return training.group().all_reduce(Tensor::from({here}), ReduceOp::kMax).item<bool>();
  };
  const auto stopped = [&] { return agree(hooks.stop && hooks.stop()); };
  const bool decides = training.group().rank() == 0;
  Checkpoints checkpoints(hooks.checkpoint_every, hooks.checkpoint_minutes);
  for (bool stop = stopped(); !stop && training.steps_done() < plan.steps; stop = stopped()) {
    const ByteBatch batch = batches.at(training.steps_done(), device);
    training.step(batch.ids, batch.targets);
    const int64_t done = training.steps_done();
    if (hooks.on_step) hooks.on_step(training);
    if ((done % every == 0 || done == plan.steps) && state_->corpus.held_out_bytes() > 0) {
      training.validate(state_->corpus.held_out);
      if (hooks.on_validation) hooks.on_validation(training.history().held_out.back());
    }
    if (done < plan.steps && agree(decides && checkpoints.due(done))) {
      save();
      checkpoints.saved();
    }
  }
  training.settle();
  return training.steps_done() == plan.steps;
}

void TrainingRun::save() { state_->training->save(state_->folder); }

}  // namespace wick
