#include "wick/train/training_run.h"

#include <fcntl.h>
#include <unistd.h>
#include <cmath>

#include <optional>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/abi/backend.h"

namespace wick {
namespace {

using test::TemporaryFolder;

/// A text, and a plan small enough to train in a blink.
struct Small {
  TemporaryFolder folder;
  TrainingPlan plan;

  Small() {
    std::string text;
    for (int i = 0; i < 60; i++)
      text += "line " + std::to_string(i * i % 37) + " of a text that repeats itself\n";
    plan.data = {folder.write("text", text)};
    plan.config.hidden_size = 16, plan.config.intermediate_size = 24;
    plan.config.num_hidden_layers = 2;
    plan.config.num_attention_heads = 2, plan.config.num_key_value_heads = 1;
    plan.config.head_dim = 8, plan.config.max_position_embeddings = 32;
    plan.steps = 16, plan.batch = 2, plan.context = 16, plan.rate = 1e-2;
  }
  TrainingRun start(const std::string& name) const {
    return TrainingRun::start(plan, folder.file(name), Device::cpu());
  }
  /// Trains a new run until `steps` are done, saves it, and returns its folder.
  std::string train(const std::string& name, int64_t steps) const {
    TrainingRun run = start(name);
    run.train({.stop = [&] { return run.training().steps_done() >= steps; }});
    run.save();
    return run.folder();
  }
};

TEST(TrainingRun, CallsItsHooksAndLearns) {
  const Small small;
  TrainingRun run = small.start("m");
  std::vector<int64_t> steps, validated;
  EXPECT_TRUE(run.train({.on_step = [&](Training& t) { steps.push_back(t.steps_done()); },
                         .on_validation = [&](const auto& p) { validated.push_back(p.step); }}));
  ASSERT_EQ(steps.size(), 16u);
  EXPECT_EQ(steps.front(), 1);
  EXPECT_EQ(steps.back(), 16);
  EXPECT_EQ(validated, (std::vector<int64_t>{2, 4, 6, 8, 10, 12, 14, 16}));
  const LossHistory& history = run.training().history();
  ASSERT_EQ(history.train.size(), 16u);
  EXPECT_LT(history.train.back(), history.train.front());
  EXPECT_EQ(history.held_out.back().loss, run.training().loss_of(run.corpus().held_out));
}

TEST(TrainingRun, ResumedEndsWithTheBytesOfAnUninterruptedOne) {
  const Small small;
  small.train("straight", 16);
  const std::string folder = small.train("stopped", 5);
  std::vector<std::string> warnings;
  {
    TrainingRun run = TrainingRun::resume(
        folder, Device::cpu(),
        {.warn = [&](const std::string& warning) { warnings.push_back(warning); }});
    EXPECT_EQ(run.training().steps_done(), 5);
    EXPECT_TRUE(run.train());
    run.save();
  }
  EXPECT_TRUE(warnings.empty());
  for (const char* file : {"model.safetensors", "training.safetensors", "config.json"})
    EXPECT_TRUE(small.folder.read(std::string("straight/") + file) ==
                small.folder.read(std::string("stopped/") + file))
        << file;
}

TEST(TrainingRun, SavesWhileItTrains) {
  const Small small;
  TrainingRun run = small.start("m");
  run.train({.on_step =
                 [&](Training& training) {
                   EXPECT_EQ(is_there(run.folder() + "/" + kTrainingFile),
                             training.steps_done() > 3);
                 },
             .checkpoint_every = 3});
  EXPECT_EQ(Training(run.folder() + "/" + kTrainingFile, Device::cpu()).steps_done(), 15);
}

TEST(TrainingRun, StoppedAtOnceHasDoneNoStep) {
  const Small small;
  TrainingRun run = small.start("m");
  EXPECT_FALSE(run.train({.stop = [] { return true; }}));
  EXPECT_EQ(run.training().steps_done(), 0);
}

TEST(TrainingRun, HasItsFolderForItself) {
  const Small small;
  std::optional<TrainingRun> run = small.start("m");
  EXPECT_ERROR(small.start("m"), kInvalidArgument, "another training run writes into this folder");
  run.reset();
  EXPECT_EQ(small.folder.names(), (std::vector<std::string>{"m", "text"}));
  const std::string folder = small.train("m", 1);
  EXPECT_ERROR(small.start("m"), kInvalidArgument,
               "the folder already holds a model; TrainingRun::resume continues it");
  EXPECT_ERROR(TrainingRun::resume(small.folder.file("none"), Device::cpu()), kInvalidArgument,
               "nothing to resume");
  small.folder.write("text", "Another text, in the place of the one that the run started with");
  EXPECT_ERROR(TrainingRun::resume(folder, Device::cpu()), kInvalidArgument, "the texts differ");
}

TEST(TrainingRun, ALossThatIsNotFiniteEndsItWithAnErrorThatNamesTheRate) {
  Small small;
  small.plan.rate = 1e38;
  TrainingRun run = small.start("m");
  const char* text = "is not finite; a plan.rate below 1e+38 may help";
  EXPECT_ERROR(run.train(), kInvalidArgument, text);
  const std::vector<float> losses = run.training().history().train;
  ASSERT_LT(losses.size(), 16u);
  EXPECT_ERROR(run.save(), kInvalidArgument,
               "the loss of step " + std::to_string(losses.size() + 1));
  EXPECT_EQ(run.training().history().train, losses);  // what is read twice is there once
  for (const float loss : losses) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_EQ(run.training().steps_done(), 16);
  EXPECT_FALSE(is_there(run.folder() + "/" + kTrainingFile));
}

TEST(TrainingRun, RefusesAPlanThatCannotBeTrained) {
  const auto refused = [](const auto& change, const char* reason) {
    Small small;
    change(small.plan);
    EXPECT_ERROR(small.start("m"), kInvalidArgument, reason);
    EXPECT_EQ(small.folder.names(), std::vector<std::string>{"text"});
  };
  refused([](TrainingPlan& plan) { plan.data.clear(); }, "plan.data");
  refused([](TrainingPlan& plan) { plan.steps = 0; }, "at least 1");
  refused([](TrainingPlan& plan) { plan.context = 0; }, "at least 1");
  refused([](TrainingPlan& plan) { plan.context = 33; }, "at least the context 33, got 32");
  refused([](TrainingPlan& plan) { plan.config.vocab_size = 300; }, "expected 256");
  refused([](TrainingPlan& plan) { plan.config.is_causal = false; }, "is_causal");
  refused([](TrainingPlan& plan) { plan.valid_fraction = 1; }, "[0, 1)");
  refused([](TrainingPlan& plan) { plan.valid_fraction = 0.999; }, "less than the context");
}

TEST(TrainingFile, NamesWhatHasComputedTheSteps) {
  const Small small;
  const Training training(small.train("m", 2) + "/" + kTrainingFile, Device::cpu());
  EXPECT_EQ(training.architectures(), std::vector<std::string>{Device::cpu().info().architecture});
}

/// Changes bits of a file in place.
class Bits {
 public:
  Bits(const std::string& path, const std::string& bytes)
      : bytes_(bytes), file_(open(path.c_str(), O_WRONLY)) {}
  ~Bits() { close(file_); }
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

  size_t size() const { return bytes_.size(); }
  size_t header_size() const { return 8 + *reinterpret_cast<const uint64_t*>(bytes_.data()); }
  /// Flips a bit; `put_back` restores the byte.
  void flip(size_t byte, size_t bit) { put(byte, char(bytes_[byte] ^ (1 << bit))); }
  void put_back(size_t byte) { put(byte, bytes_[byte]); }

 private:
  void put(size_t byte, char value) { EXPECT_EQ(pwrite(file_, &value, 1, off_t(byte)), 1); }

  std::string bytes_;
  int file_;
};

/// Whether the file is refused as malformed.
bool is_refused(const std::string& path) {
  try {
    const Training training(path, Device::cpu());
    return false;
  } catch (const Error& error) {
    return error.code() == ErrorCode::kFormat;
  }
}

TEST(TrainingFile, AFlippedBitAnywhereIsRefused) {
  const Small small;
  const std::string file = small.train("m", 2) + "/" + kTrainingFile;
  Bits bits(file, small.folder.read(std::string("m/") + kTrainingFile));
  ASSERT_FALSE(is_refused(file));
  // All of the header, and the tensors at distances that meet every byte of a number.
  size_t bit = 0;
  for (size_t byte = 0; byte < bits.size(); byte += byte < bits.header_size() ? 1 : 61) {
    bits.flip(byte, bit = (bit + 3) % 8);
    ASSERT_TRUE(is_refused(file)) << "bit " << bit << " of byte " << byte;
    bits.put_back(byte);
  }
  EXPECT_FALSE(is_refused(file));
}

}  // namespace
}  // namespace wick
