// The program `wick` from outside: what it prints, where, and its exit code.
#include <unistd.h>

#include "run.h"

namespace wick::test {
namespace {

TEST(Devices, PrintsWhatIsThereAndWhyTheRestIsNot) {
  const Outcome outcome = run("devices", "WICK_BACKEND_PATH=");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(begins(outcome.out, "cpu ")) << outcome.out;
  for (const char* line : {"\nrocm", "\ncuda", "\nemu:32", "\nemu:64",
                           "\nmetal    none: there is no Metal backend", "\nbest     "})
    EXPECT_TRUE(contains(outcome.out, line)) << line << " is not in\n" << outcome.out;
}

TEST(Devices, AModuleThatCannotBeLoadedIsALineWithItsReason) {
  const std::string folder = "/tmp/wick-cli-modules-" + std::to_string(getpid());
  ASSERT_EQ(system(("mkdir -p " + folder + " && echo text > " + folder + "/wick_rocm.so").c_str()),
            0);
  const Outcome outcome = run("devices", "WICK_BACKEND_PATH=" + folder);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.out, "\nrocm     none: " + folder + "/wick_rocm.so cannot be loaded: "))
      << outcome.out;
  ASSERT_EQ(system(("rm -r " + folder).c_str()), 0);
}

TEST(Devices, PrintsTheFactsAboutARuntimeBelowItsDevices) {
  const Outcome outcome = run("devices",
                              "TEST_RUNTIME='/lib/libscript.so\ntwo are loaded' "
                              "WICK_BACKEND_PATH=" WICK_SCRIPTED_MODULE);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\nrocm:0   Scripted 0, ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out,
                       "\nrocm     runtime: /lib/libscript.so\nrocm     runtime: two are loaded\n"))
      << outcome.out;
}

TEST(Devices, PrintsTheOneThatIsAskedFor) {
  const Outcome outcome = run("devices --device cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(begins(outcome.out, "cpu ")) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << outcome.out;
}

TEST(Devices, OpsAreATableOfWhoServesThem) {
  const Outcome outcome = run("devices --ops --device cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* row : {"\nneg ", "\nmatmul ", "\nscatter_add ", "\ncross_entropy "})
    EXPECT_TRUE(contains(outcome.out, row)) << row << " is not in\n" << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "bf16")) << outcome.out;
  const size_t f64 = outcome.out.find("f64") + 2, column = f64 - outcome.out.rfind('\n', f64) - 1;
  // Each is asked for with the operands that it takes.
  for (const char* row : {"\nsdpa ", "\nadamw ", "\nrope ", "\nwhere ", "\nsample "}) {
    const size_t at = outcome.out.find(row) + 1;
    const std::string line = outcome.out.substr(at, outcome.out.find('\n', at) - at);
    EXPECT_EQ(line.at(column), 'K') << line;
    EXPECT_EQ(line.back(), '-') << line;  // of blocks
  }
}

TEST(BadInput, AnUnknownDevice) {
  expect_bad_input(
      run("devices --device gpu"),
      "device: expected cpu, rocm[:N], cuda[:N], metal, emu:32, emu:64 or auto, got \"gpu\"");
  expect_bad_input(run("devices --device emu:16"),
                   "emu:16: no such device; there are emu:32, emu:64");
  expect_bad_input(run("devices --device cpu:1"), "got \"cpu:1\"");
}

TEST(BadInput, ADeviceThatIsNotThere) {
  expect_bad_input(run("devices --device metal"), "there is no Metal backend");
  expect_bad_input(run("devices --device rocm:12345"), "rocm:12345: ");
}

TEST(BadInput, FlagsAndCommands) {
  expect_bad_input(run(""), "wick: expected a command; wick --help lists them");
  expect_bad_input(run("nonsense"), "nonsense");
  expect_bad_input(run("devices --nonsense"), "--nonsense");
  expect_bad_input(run("devices --device"), "--device");
  expect_bad_input(run("devices more words"), "more");
}

TEST(BadInput, AnEnvironmentVariableThatMakesNoSense) {
  expect_bad_input(run("devices", "WICK_CPU=fast"), "WICK_CPU");
  expect_bad_input(run("devices --device cpu", "WICK_ALLOC=greedy"),
                   "WICK_ALLOC: expected one of caching, plain, got \"greedy\"");
}

TEST(Program, HelpAndVersionSucceed) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(contains(help.out, "devices")) << help.out;
  const Outcome version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(contains(version.out, ".")) << version.out;
}

}  // namespace
}  // namespace wick::test
