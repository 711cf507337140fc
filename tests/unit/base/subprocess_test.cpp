#include "base/subprocess.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "../expect.h"
#include "../temporary_folder.h"

namespace wick {
namespace {

TEST(Subprocess, PassesArgumentsAsTheyAre) {
  const std::string odd = "a b; echo $HOME `id` \"'\\ *";
  const Finished finished = run_program({find_program("printf").value(), "%s|", odd, ""});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.output, odd + "||");
}

TEST(Subprocess, GivesStatusOutputAndErrors) {
  const std::string sh = find_program("sh").value();
  const Finished failed = run_program({sh, "-c", "echo out; echo err >&2; cat; exit 7"});
  EXPECT_EQ(failed.status, 7);
  EXPECT_EQ(failed.output, "out\nerr\n");  // cat found nothing to read
  EXPECT_EQ(run_program({sh, "-c", "kill -9 $$"}).status, 128 + 9);
  // More than a pipe holds, and more than is kept.
  EXPECT_GE(run_program({sh, "-c", "yes | head -c 3000000"}).output.size(), size_t(1) << 20);
}

TEST(Subprocess, GivesTheOutputAsItComes) {
  const std::string sh = find_program("sh").value();
  std::vector<std::string> parts;
  const Finished finished =
      run_program({sh, "-c", "echo one; sleep 0.3; echo two"}, ProgramLimits{},
                  [&](std::string_view part) { parts.emplace_back(part); });
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.output, "");
  EXPECT_EQ(parts, (std::vector<std::string>{"one\n", "two\n"}));
}

TEST(Subprocess, EndsAProgramThatIsSilentForTooLong) {
  const std::string sh = find_program("sh").value();
  const ProgramLimits limits{.silence = std::chrono::seconds(1)};
  EXPECT_ERROR(run_program({sh, "-c", "echo begin; exec sleep 60"}, limits), kIo,
               "no output for 1 s; it was ended");
  // A program that writes now and then may run for longer.
  const Finished finished =
      run_program({sh, "-c", "for i in 1 2 3 4; do sleep 0.4; echo $i; done"}, limits);
  EXPECT_EQ(finished.output, "1\n2\n3\n4\n");
}

TEST(Subprocess, NamesHowAProgramEnded) {
  EXPECT_EQ(ending_of({.status = 3, .output = ""}), "exits with status 3");
  EXPECT_EQ(ending_of({.status = 128 + 9, .output = ""}), "is ended by signal 9 (Killed)");
}

/// A program that starts another and waits for it; the number of the latter is in the file `id`.
std::vector<std::string> long_program(const test::TemporaryFolder& folder) {
  return {find_program("sh").value(), "-c",
          "sleep 60 & echo $! > '" + folder.file("id") + "'; wait"};
}
/// Neither it nor what it has started runs.
void expect_ended(const test::TemporaryFolder& folder) {
  const std::string file = "/proc/" + std::to_string(std::stoi(folder.read("id"))) + "/stat";
  const auto state = [&] {
    std::ifstream stat(file);
    std::string id, name, letter = "gone";
    stat >> id >> name >> letter;
    return letter;
  };
  const auto has_ended = [&] { return state() == "gone" || state() == "Z" || state() == "X"; };
  // A signal that was sent takes its time on a busy machine.
  for (int i = 0; i < 500 && !has_ended(); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(has_ended()) << state();
}
void wait_for_start(const test::TemporaryFolder& folder) {
  while (folder.read("id").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST(Subprocess, KillsAProgramAndItsChildrenAtTheLimit) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(run_program(long_program(folder), std::chrono::seconds(2)), kIo,
               "still runs after 2 s; it was ended");
  expect_ended(folder);
  // One that has closed its output is waited for no longer.
  EXPECT_ERROR(run_program({find_program("sh").value(), "-c", "exec >&- 2>&-; exec sleep 60"},
                           std::chrono::milliseconds(100)),
               kIo, "still runs");
}

std::atomic<int> interrupts{0};

TEST(Subprocess, SigintKillsTheProgramAndReachesTheHandler) {
  const test::TemporaryFolder folder;
  interrupts = 0;
  struct sigaction action {
  }, before{}, after{};
  action.sa_handler = [](int) { interrupts++; };
  sigaction(SIGINT, &action, &before);
  std::thread sender([&] {
    wait_for_start(folder);
    kill(getpid(), SIGINT);
  });
  EXPECT_ERROR(run_program(long_program(folder)), kIo, "interrupted");
  sender.join();
  expect_ended(folder);
  EXPECT_EQ(interrupts, 1);
  sigaction(SIGINT, &before, &after);
  EXPECT_EQ(after.sa_handler, action.sa_handler);
}

TEST(Subprocess, SigintEndsAProcessThatHasNoHandler) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(test::in_child([&] {
              // A process sends it: a forked child of a process with threads may start none of its own.
              const pid_t reader = getpid();
              if (fork() == 0) {
                wait_for_start(folder);
                kill(reader, SIGINT);
                _exit(0);
              }
              run_program(long_program(folder));
              return std::string("goes on");
            }),
            " (and the child ended with status " + std::to_string(SIGINT) + ")");
  expect_ended(folder);
}

TEST(Subprocess, FindsProgramsInPathAlone) {
  const test::TemporaryFolder folder;
  folder.write("plain", "no program");
  EXPECT_FALSE(find_program(folder.file("plain")).has_value());
  EXPECT_FALSE(find_program(folder.path() + "/").has_value());
  EXPECT_FALSE(find_program("no-such-program-anywhere").has_value());
  EXPECT_EQ(test::in_child([&] {
              setenv("PATH", (":.:" + folder.path()).c_str(), 1);
              return find_program("sh").value_or("none");
            }),
            "none");
  EXPECT_ERROR(run_program({folder.file("plain")}), kIo, "cannot be run");
}

}  // namespace
}  // namespace wick
