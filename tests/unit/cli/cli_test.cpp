// The program `wick` from outside: its output on stdout and stderr, and its exit code.
#include <sys/stat.h>
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

TEST(Doctor, ExaminesThisMachine) {
  const Outcome outcome = run("doctor");
  EXPECT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.code << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"\nkernel ", "\ncpu ", " warning", " note"})
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n" << outcome.out;
}

TEST(Doctor, ReadsTheFilesBelowAnotherRootAndExitsWithOneIfThereIsAProblem) {
  const Folder folder;
  const std::string card = folder.path() + "/sys/bus/pci/devices/0000:03:00.0";
  std::filesystem::create_directories(card);
  std::ofstream(card + "/uevent") << "PCI_CLASS=30000\nPCI_ID=1002:744C\n";
  const Outcome outcome = run("doctor --json", "WICK_SYSTEM_ROOT=" + folder.path());
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(begins(outcome.out, "{\n")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\"id\": \"amd-no-driver\"")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\"pci_id\": \"1002:744c\"")) << outcome.out;
}

TEST(Doctor, SurvivesARuntimeThatEndsTheProcess) {
  const Outcome outcome = run("doctor", "WICK_BACKEND_PATH=" WICK_CRASHING_MODULE);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "signal 6 (Aborted)")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "[runtime-fails]")) << outcome.out;
}

TEST(Doctor, FindsTwoRuntimesInAProcess) {
  const Outcome outcome =
      run("doctor",
          "TEST_RUNTIME='/lib/libscript.so\n2 are loaded in this process and share "
          "nothing' WICK_BACKEND_PATH=" WICK_SCRIPTED_MODULE);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "rocm      runtime: /lib/libscript.so\n")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "[two-runtimes]")) << outcome.out;
}

TEST(Doctor, AReportHasNoPersonalNames) {
  const Folder folder;
  std::filesystem::create_directories(folder.path() + "/sys");
  const Outcome outcome = run(
      "doctor --report", "WICK_SYSTEM_ROOT=" + folder.path() +
                             " HOME=/people/ann USER=ann WICK_BACKEND_PATH=/people/ann/modules");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(begins(outcome.out, "```\n")) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "ann")) << outcome.out;
}

TEST(Doctor, TestsTheKernelsOfADeviceAndMeasuresIt) {
  const Outcome outcome = run("doctor --kernels --device emu:32 --ops neg,silu");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const char* part :
       {"kernels of emu:32, GPU emulator", "  agree with the reference\n", "     0  differ",
        " cases passed, 0 failed", "(a part of the test: --ops)", "rates of emu:32", "\n  copy ",
        "\n  f16 products ", "\ncpu "})
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n" << outcome.out;
}

TEST(Doctor, KernelsAsJson) {
  const Outcome outcome = run("doctor --kernels --json --device emu:64 --ops neg");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"\"cases_failed\": 0", "\"differ\": []", "\"not_tested\": [{",
                           "\"rates\": {", "\"architecture\": \"wave64\"", "\"findings\": ["})
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n"
                                             << outcome.out.substr(0, 3000);
}

TEST(BadInput, OfDoctor) {
  expect_bad_input(run("doctor --kernels --device emu:32 --ops nonsense"),
                   "--ops: no row \"nonsense\"");
  expect_bad_input(run("doctor --kernels --device nonsense"), "got \"nonsense\"");
  expect_bad_input(run("doctor --kernels --device rocm:99"), "rocm:99");
  expect_bad_input(run("doctor --device emu:32"), "--kernels");
  expect_bad_input(run("doctor --ops neg"), "--kernels");
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
  expect_bad_input(run("devices more words"), "devices: unexpected argument more, words\n");
}

TEST(BadInput, UnknownFlagsAndCommandsAreNamedInOrderWithTheNearest) {
  const struct {
    const char *arguments, *error;
  } rows[] = {
      {"nothing --help", "wick: unknown command nothing; wick --help lists them\n"},
      {"genrate -p x", "wick: unknown command genrate; the nearest is generate\n"},
      {"devices --halp --opps",
       "wick: devices: unknown flag --halp (the nearest is --help), --opps (the nearest is "
       "--ops)\n"},
      {"generate --promt=x --help",
       "wick: generate: unknown flag --promt=x (the nearest is --prompt)\n"},
      {"chat --xyzzy", "wick: chat: unknown flag --xyzzy\n"},
      {"--verson", "wick: unknown flag --verson (the nearest is --version)\n"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = run(row.arguments);
    EXPECT_EQ(outcome.code, 2) << row.arguments;
    EXPECT_EQ(outcome.err, row.error);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(BadInput, AnArgumentWithoutAFlagIsAPath) {
  expect_bad_input(run("chat"), "chat: --model is required: wick chat MODEL");
  expect_bad_input(run("chat model hello"), "chat: unexpected argument \"hello\"; -p takes a text");
  expect_bad_input(run("bench -m model more"), "bench: unexpected argument \"more\"");
  // Named like a command.
  expect_bad_input(run("embed model train"), "train: No such file or directory; --text");
}

TEST(BadInput, AFileThatOtherProgramsWriteInto) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const char* command : {"inspect ", "chat -p x ", "tokenize --text x ", "bench "})
    expect_bad_input(run(command + (folder / "fifo"), "timeout 10"), "fifo: not a regular file");
}

TEST(Program, TakesThreadsAndADevice) {
  EXPECT_EQ(run("devices --device cpu --threads 2").code, 0);
  expect_bad_input(run("devices --threads 0"), "--threads: expected an integer from 1 to 4096");
  EXPECT_TRUE(begins(run("devices --device auto", "WICK_DEVICE=cpu").out, "cpu "));
  EXPECT_TRUE(contains(run("devices", "WICK_DEVICE=cpu").out, "\nbest     cpu\n"));
  expect_bad_input(run("devices --device auto", "WICK_DEVICE=gpu"), "WICK_DEVICE: device: ");
}

TEST(Program, BashCompletesItsCommandsAndFlags) {
  const auto completed = [](const std::string& words, int at) {
    const Outcome outcome =
        run("completion); COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
                "; _wick; echo ${COMPREPLY[*]}'",
            "bash -c 'source <(");
    return outcome.out;
  };
  EXPECT_EQ(completed("wick ch", 1), "chat\n");
  EXPECT_EQ(completed("wick chat --no-h", 2), "--no-history\n");
  EXPECT_EQ(completed("wick chat --device cu", 3), "cuda\n");
  EXPECT_EQ(completed("wick chat mod", 2), "\n");  // bash completes file names
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
  EXPECT_EQ(version.out, WICK_VERSION "\n");
}

}  // namespace
}  // namespace wick::test
