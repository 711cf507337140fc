// wick train as several ranks of wick launch.
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "run.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

using std::chrono::seconds;

constexpr const char* kProgram = "'" WICK_PROGRAM "'";

/// The losses of a run: of each step, and on the held-out texts.
std::vector<double> losses_in(const std::string& folder) {
  const SafetensorsReader reader(folder + "/training.safetensors");
  std::vector<double> losses;
  for (const float loss : reader.load("train_loss").to_vector<float>()) losses.push_back(loss);
  for (const double loss : reader.load("held_out_loss").to_vector<double>()) losses.push_back(loss);
  return losses;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

/// Texts, and the flags of a short run on them.
class SeveralRanks : public testing::Test {
 protected:
  SeveralRanks() {
    std::string text;
    for (int i = 0; i < 400; i++) text += "line " + std::to_string(i * i % 97) + " of a text\n";
    text_ = folder_.write("text.txt", text);
  }
  std::string flags(const std::string& out) const {
    return " train --data " + text_ + " --out " + folder_ / out +
           " --steps 24 --batch 7 --context 24 --lr 0.002 --json";
  }
  /// The losses of one process.
  std::vector<double> alone() const {
    EXPECT_EQ(run(flags("alone")).code, 0);
    return losses_in(folder_ / "alone");
  }

  Folder folder_;
  std::string text_;
};

TEST_F(SeveralRanks, TrainAsOneProcessDoes) {
  const std::vector<double> expected = alone();
  // Ranks with different numbers of sequences, and ranks without any.
  for (const char* ranks : {"2", "3", "8"}) {
    const std::string out = std::string("of") + ranks;
    const Outcome outcome =
        run(std::string("launch -n ") + ranks + " --plain " + kProgram + flags(out));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, std::string("\"ranks\":") + ranks + "}\n")) << outcome.out;
    EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << "one rank prints: " << outcome.out;
    expect_near(losses_in(folder_ / out), expected);
  }
  EXPECT_EQ(run(flags("parts") + " --parts 3").code, 0);
  expect_near(losses_in(folder_ / "parts"), expected);
}

TEST_F(SeveralRanks, RepeatTheirBytes) {
  for (const char* out : {"first", "second"})
    EXPECT_EQ(run(std::string("launch -n 3 ") + kProgram + flags(out)).code, 0);
  EXPECT_EQ(bytes_of(folder_ / "first/model.safetensors"),
            bytes_of(folder_ / "second/model.safetensors"));
}

TEST_F(SeveralRanks, ADeadRankEndsTheOthersAndAnotherNumberOfRanksGoesOn) {
  // Rank 1 is killed once there is a checkpoint.
  const std::string script =
      folder_.write("rank.sh", "[ $RANK = 1 ] || exec " + std::string(kProgram) + flags("run") +
                                   " --checkpoint-every 5\n" + kProgram + flags("run") +
                                   " --checkpoint-every 5 & rank=$!\n" + "while ! [ -f '" +
                                   folder_ / "run/training.safetensors" +
                                   "' ]; do sleep 0.01; done\n" + "kill -9 $rank; wait $rank\n");
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run("launch -n 3 sh " + script);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "wick: ") && contains(outcome.err, "rank 1 ")) << outcome.err;
  ASSERT_LT(losses_in(folder_ / "run").size(), 24u) << "the run had ended before";
  const Outcome resumed =
      run(std::string("launch -n 2 ") + kProgram + " train --json --resume " + folder_ / "run");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "in 3 ranks, this run is on ")) << resumed.err;
  expect_near(losses_in(folder_ / "run"), alone());
}

TEST_F(SeveralRanks, AreInterruptedTogetherAndGoOn) {
  const std::string script = folder_.write(
      "rank.sh", "[ $RANK != 0 ] || (while ! [ -f '" + folder_ / "run/training.safetensors" +
                     "' ]; do sleep 0.01; done; kill -INT $PPID) &\n exec " + kProgram +
                     flags("run") + " --checkpoint-every 3\n");
  const Outcome outcome = run("launch -n 2 sh " + script, "exec");
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  ASSERT_LT(losses_in(folder_ / "run").size(), 24u);
  EXPECT_EQ(run("train --resume " + folder_ / "run").code, 0);
  expect_near(losses_in(folder_ / "run"), alone());
}

TEST_F(SeveralRanks, RefuseDifferentPlans) {
  const std::string script =
      folder_.write("rank.sh", std::string("exec ") + kProgram + flags("run") + " --seed $RANK\n");
  const Outcome outcome = run("launch -n 2 sh " + script);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.err, "train: the plans or texts of rank 1 differ from those of rank 0"))
      << outcome.err;
}

}  // namespace
}  // namespace wick::test
