// Ranks that mpirun starts, over MPI.
#include <cstdlib>
#include <fstream>

#include "../temporary_folder.h"
#include "base/subprocess.h"
#include "ranks.h"
#include "wick/io/safetensors.h"

namespace wick {
namespace {

using std::chrono::seconds;
using test::has;

/// Whether a process is there and has not ended. It may wait for its parent, or for init, to take
/// its status.
bool runs(int id) {
  std::ifstream status("/proc/" + std::to_string(id) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("State:")) return !has(line, "Z (") && !has(line, "X (");
  return false;
}

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
#ifndef WICK_TEST_MPI
    GTEST_SKIP() << "this build has no wick_mpi.so: no MPI is installed, or sanitizers watch";
#endif
    const std::optional<std::string> path = find_program("mpirun");
    if (!path) GTEST_SKIP() << "mpirun is missing (Debian's openmpi-bin)";
    mpirun_ = *path;
    timeout_ = find_program("timeout").value_or("/usr/bin/timeout");
  }

  /// Runs a command as ranks, with WICK_DIST=`dist` and other variables.
  Finished run(int count, const std::string& dist, const std::vector<std::string>& command,
               std::vector<std::string> variables = {}) const {
    // Open MPI 4.1's mpirun sometimes hangs when it has ended all ranks of a run that failed.
    std::vector<std::string> all = {timeout_,
                                    "-k",
                                    "2",
                                    "25",
                                    mpirun_,
                                    "--allow-run-as-root",
                                    "--oversubscribe",
                                    "--bind-to",
                                    "none",
                                    "-n",
                                    std::to_string(count)};
    variables.push_back("WICK_DIST=" + dist);
    variables.push_back("WICK_LOG=info");
    variables.push_back("MASTER_PORT=" + std::to_string(test::free_port()));
    for (const std::string& variable : variables) {
      const size_t size = variable.find('=');
      setenv(variable.substr(0, size).c_str(), variable.substr(size + 1).c_str(), 1);
      all.insert(all.end(), {"-x", variable.substr(0, size)});
    }
    all.insert(all.end(), command.begin(), command.end());
    const Finished finished = run_program(all, seconds(60));
    for (const std::string& variable : variables)
      unsetenv(variable.substr(0, variable.find('=')).c_str());
    return finished;
  }

  std::string mpirun_, timeout_;
};

TEST_F(Mpi, GivesTheBitsOfTcp) {
  const test::TemporaryFolder folder;
  for (const int count : {2, 3})
    for (const char* dist : {"tcp", "mpi", "auto"}) {
      const Finished finished =
          run(count, dist, {WICK_RANK_PROGRAM, "collectives", folder.file(dist)});
      ASSERT_EQ(finished.status, 0) << finished.output;
      EXPECT_EQ(has(finished.output, "the ranks use MPI"), std::string(dist) != "tcp")
          << finished.output;
      for (int rank = 0; rank < count; rank++) {
        const std::string suffix = "." + std::to_string(rank);
        const std::string expected = folder.read("tcp" + suffix);
        EXPECT_TRUE(has(expected, "in a second group f32[3] ")) << expected;
        EXPECT_EQ(folder.read(dist + suffix), expected);
      }
    }
}

TEST_F(Mpi, EndsAllIfARankIsKilled) {
  const test::TemporaryFolder folder;
  const Finished finished = run(3, "mpi", {WICK_RANK_PROGRAM, "die", folder.file("id")});
  EXPECT_NE(finished.status, 0);
  EXPECT_TRUE(has(finished.output, "signal 9")) << finished.output;
  for (const char* file : {"id.0", "id.1", "id.2"}) {
    const int id = std::atoi(folder.read(file).c_str());
    ASSERT_GT(id, 0) << file;
    const auto until = std::chrono::steady_clock::now() + seconds(10);
    while (runs(id) && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(runs(id)) << file;
  }
}

TEST_F(Mpi, NamesTheRanksOfErrors) {
  const auto expect = [&](const char* mode, const std::string& part) {
    const Finished finished = run(3, "mpi", {WICK_RANK_PROGRAM, mode}, {"WICK_DIST_TIMEOUT=1"});
    EXPECT_NE(finished.status, 0);
    EXPECT_TRUE(has(finished.output, part)) << finished.output;
  };
  expect("differ", "rank 1 calls all_reduce f32[200001] sum");
  expect("leave",
         "all_reduce: rank 2 has left the group, and does not call all_reduce f32[200000]");
  expect("hang", "all_reduce: rank 1 moved no byte for 1 s (WICK_DIST_TIMEOUT)");
}

TEST_F(Mpi, RefusesRanksThatMpirunDidNotStart) {
  const Finished finished = run_program(
      {"/usr/bin/env", "WICK_DIST=mpi", "RANK=1", "WORLD_SIZE=2", WICK_RANK_PROGRAM, "collectives"},
      seconds(60));
  EXPECT_EQ(finished.status, 1);
  EXPECT_TRUE(has(finished.output, "dist: expected rank 1 of 2, MPI has rank 0 of 1;"))
      << finished.output;
}

TEST(MpiModule, IsNamedIfItIsMissing) {
  // The program dist_rank has libwick's code in itself, and looks for modules in its own folder.
  const Finished finished =
      run_program({"/usr/bin/env", "-u", "WICK_BACKEND_PATH", "WICK_DIST=mpi", "RANK=0",
                   "WORLD_SIZE=2", WICK_RANK_PROGRAM, "collectives"},
                  seconds(60));
  EXPECT_EQ(finished.status, 1);
  EXPECT_TRUE(has(finished.output, "dist: WICK_DIST is mpi, but the module wick_mpi.so is not in "))
      << finished.output;
  const Finished unknown = run_program(
      {"/usr/bin/env", "WICK_DIST=udp", "RANK=0", "WORLD_SIZE=2", WICK_RANK_PROGRAM, "collectives"},
      seconds(60));
  EXPECT_TRUE(has(unknown.output, "WICK_DIST: expected one of auto, nccl, tcp, mpi, got \"udp\""))
      << unknown.output;
}

TEST_F(Mpi, TrainsToTheLossesOfWickLaunch) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 400; i++) text += "line " + std::to_string(i * i % 97) + " of a text\n";
  const std::string text_file = folder.write("text.txt", text);
  const auto command = [&](const std::string& out) {
    return std::vector<std::string>{WICK_PROGRAM,     "train",   "--data", text_file, "--out",
                                    folder.file(out), "--steps", "12",     "--batch", "7",
                                    "--context",      "24",      "--lr",   "0.002"};
  };
  for (const int count : {2, 3}) {
    const std::string over_mpi = "mpi" + std::to_string(count);
    const Finished finished = run(count, "mpi", command(over_mpi));
    ASSERT_EQ(finished.status, 0) << finished.output;
    EXPECT_TRUE(has(finished.output, "the ranks use MPI")) << finished.output;
    const std::string launched = "tcp" + std::to_string(count);
    std::vector<std::string> launch = {WICK_PROGRAM, "launch", "-n", std::to_string(count)};
    const std::vector<std::string> train = command(launched);
    launch.insert(launch.end(), train.begin(), train.end());
    ASSERT_EQ(run_program(launch, seconds(60)).status, 0);
    const auto losses_in = [&](const std::string& out) {
      const SafetensorsReader reader(folder.file(out) + "/training.safetensors");
      return std::pair(reader.load("train_loss").to_vector<float>(),
                       reader.load("held_out_loss").to_vector<double>());
    };
    EXPECT_EQ(losses_in(over_mpi), losses_in(launched));
    EXPECT_EQ(losses_in(over_mpi).first.size(), 12u);
  }
}

}  // namespace
}  // namespace wick
