// wick launch from outside.
#include <chrono>

#include "run.h"

namespace wick::test {
namespace {

TEST(Launch, GivesEachRankItsVariablesAndPrefixesItsLines) {
  const Outcome outcome =
      run("launch -n 3 sh -c 'echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, "
          "$MASTER_ADDR; echo to stderr >&2; printf rest'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string rank : {"0", "1", "2"}) {
    EXPECT_TRUE(
        contains(outcome.out, "[" + rank + "] " + rank + " of 3, " + rank + " of 3, 127.0.0.1\n"))
        << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "[" + rank + "] rest\n")) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, "[" + rank + "] to stderr\n")) << outcome.err;
  }
  const Outcome second =
      run("launch -n 2 --nodes 3 --node 2 --address host --port 1234 --plain sh -c "
          "'echo $RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $MASTER_PORT'");
  EXPECT_TRUE(contains(second.out, "4 6 0 host 1234\n")) << second.out;
  EXPECT_TRUE(contains(second.out, "5 6 1 host 1234\n")) << second.out;
}

TEST(Launch, SharesTheCoresOut) {
  const std::string print = "launch -n 2 --plain sh -c 'echo $WICK_THREADS'";
  EXPECT_EQ(
      run("launch -n 2 --threads 6 --plain sh -c 'echo $WICK_THREADS'", "env -u WICK_THREADS").out,
      "3\n3\n");
  EXPECT_EQ(run(print, "WICK_THREADS=5").out, "5\n5\n");
}

TEST(Launch, EndsTheOthersIfOneFailsAndNamesIt) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome failed = run("launch -n 3 sh -c '[ $RANK != 1 ] || exit 3; sleep 60'");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.err, "wick: launch: rank 1 exits with status 3; the other ranks were ended\n");
  const Outcome bad_input = run("launch -n 2 sh -c '[ $RANK != 0 ] || exit 2; sleep 60'");
  EXPECT_EQ(bad_input.code, 2);
  const Outcome killed = run("launch -n 2 sh -c '[ $RANK != 1 ] || kill -9 $$; sleep 60'");
  EXPECT_EQ(killed.code, 1);
  EXPECT_EQ(killed.err,
            "wick: launch: rank 1 is ended by signal 9 (Killed); the other ranks were ended\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Launch, KillsRanksThatIgnoreTheEnd) {
  const Folder folder;
  // Rank 1 fails once rank 0 ignores the signal.
  const std::string script = folder.write(
      "rank.sh", "trap '' TERM\ncd " + folder.path() +
                     "\nif [ $RANK = 1 ]; then while ! [ -f there ]; do sleep 0.01; done; exit 1; "
                     "else touch there; fi\nwhile sleep 1; do :; done\n");
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run("launch -n 2 sh " + script);
  EXPECT_EQ(outcome.code, 1);
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(taken, std::chrono::seconds(9));
  EXPECT_LT(taken, std::chrono::seconds(20));
}

TEST(Launch, InterruptsTheRanks) {
  const Folder folder;
  // Rank 0 sends the signal once rank 1 awaits it.
  const std::string script = folder.write(
      "rank.sh", "trap 'echo ended; exit 0' TERM\ncd " + folder.path() +
                     "\nif [ $RANK = 0 ]; then while ! [ -f there ]; do sleep 0.01; done; "
                     "kill -INT $PPID; else touch there; fi\nwhile sleep 0.1; do :; done\n");
  const Outcome outcome = run("launch -n 2 --plain sh " + script, "exec");
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_EQ(outcome.out, "ended\nended\n");
}

TEST(Launch, RefusesBadInput) {
  expect_bad_input(run("launch -n 2"), "launch: expected a command");
  expect_bad_input(run("launch -n 0 ls"), "--processes");
  expect_bad_input(run("launch -n 2 wick-no-such-program"),
                   "launch: no program \"wick-no-such-program\" was found");
  expect_bad_input(run("launch --fro 2 ls"), "launch: unknown flag --fro");
  expect_bad_input(run("launch --nodes 2 ls"), "launch: expected a port");
  expect_bad_input(run("launch --nodes 2 --node 2 --port 1 ls"),
                   "launch: expected a machine in [0, 2), got 2");
}

}  // namespace
}  // namespace wick::test
