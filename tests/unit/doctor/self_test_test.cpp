// The self-test of kernels: programs in place of wick-conformance that fail in every way, and rates.
#include "wick/doctor/self_test.h"

#include <sys/stat.h>

#include "../expect.h"
#include "../temporary_folder.h"
#include "doctor/data_sheets.h"
#include "wick/io/json.h"

namespace wick::test {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kBegin =
    R"(echo '{"begin":{"device":"rocm:0","name":"Radeon","architecture":"gfx1100","rows":["add","mul","sub"]}}')";

std::string kernel_line(const char* name, int passed, int failed) {
  return std::string(R"(echo '{"kernel":{"op":")") + name + R"(","dtypes":"f16,f16:f16","name":")" +
         name + R"(_f16","library":false,"passed":)" + std::to_string(passed) + R"(,"failed":)" +
         std::to_string(failed) + R"(,"reason":""}}')";
}
std::string row_lines(const char* name, int passed, int failed) {
  return std::string("echo '{\"row\":\"") + name + "\"}'\necho '{\"case\":\"f16/3\"}'\n" +
         kernel_line(name, passed, failed) + "\necho '{\"done\":{\"row\":\"" + name +
         "\",\"passed\":" + std::to_string(passed) + ",\"failed\":" + std::to_string(failed) +
         ",\"seconds\":0.5}}'\n";
}
constexpr const char* kEnd = "echo '{\"end\":{\"passed\":1,\"failed\":0,\"seconds\":1.5}}'\n";

class Program {
 public:
  explicit Program(const std::string& body)
      : path_(folder_.write("conformance", "#!/bin/sh\n" + body)) {
    chmod(path_.c_str(), 0755);
  }
  SelfTest run(SelfTestOptions options = {}) const {
    options.program = path_;
    return test_kernels(options);
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

TEST(SelfTest, CountsCasesAndKernels) {
  const Program program(std::string(kBegin) + "\necho 'a runtime says hello'\n" +
                        row_lines("add", 10, 0) + row_lines("mul", 5, 0) + row_lines("mul", 2, 0) +
                        kernel_line("sub", 0, 0) + "\n" + kEnd);
  std::vector<std::string> rows;
  SelfTestOptions options;
  options.progress = [&](const std::string& row, int64_t done, int64_t total) {
    rows.push_back(row + " " + std::to_string(done) + "/" + std::to_string(total));
  };
  const SelfTest test = program.run(options);
  EXPECT_EQ(test.broken, "");
  EXPECT_EQ(test.device, "rocm:0");
  EXPECT_EQ(test.passed, 17);
  EXPECT_EQ(test.failed, 0);
  ASSERT_EQ(test.kernels.size(), 3u);
  EXPECT_EQ(test.kernels[1].name, "mul_f16");
  EXPECT_EQ(test.kernels[1].passed, 7);
  EXPECT_EQ(rows, (std::vector<std::string>{"add 1/3", "mul 2/3", "mul 3/3"}));

  const std::string text = to_text(test);
  for (const char* part : {"kernels of rocm:0, Radeon, gfx1100\n", "2  agree with the reference\n",
                           "0  differ", "1  not tested: no case reaches them: sub (1)\n"})
    EXPECT_TRUE(contains(text, part)) << part << " is not in\n" << text;
  Diagnosis diagnosis;
  add_findings(test, &diagnosis);
  EXPECT_TRUE(diagnosis.findings.empty());
}

TEST(SelfTest, AFailureIsAProblemThatNamesTheCaseAndTheKernel) {
  const Program program(
      std::string(kBegin) + "\n" + row_lines("add", 10, 0) +
      R"(echo '{"failure":{"row":"mul","case":"f16/3","text":"at [0] expected 1, got 2","kernels":["mul_f16"]}}')" +
      "\n" + row_lines("mul", 3, 1) + kEnd);
  const SelfTest test = program.run();
  EXPECT_EQ(test.failed, 1);
  ASSERT_EQ(test.failures.size(), 1u);
  EXPECT_EQ(test.failures[0].kernels, std::vector<std::string>{"mul_f16"});
  const std::string text = to_text(test);
  EXPECT_TRUE(contains(text, "differs mul_f16 (f16,f16:f16), in 1 of 4 cases\n")) << text;
  EXPECT_TRUE(contains(text, "failed  mul, case f16/3: at [0] expected 1, got 2\n")) << text;
  Diagnosis diagnosis;
  add_findings(test, &diagnosis);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].id, "kernels-differ");
  EXPECT_EQ(diagnosis.findings[0].severity, Severity::kProblem);
  EXPECT_TRUE(contains(diagnosis.findings[0].problem, "1 case of"))
      << diagnosis.findings[0].problem;
  const Settings json = parse_json(to_json(to_settings(test)), "test");
  EXPECT_EQ(json.integer("agree"), 1);
  EXPECT_EQ(std::get<Setting::List>(json.find("differ")->value).size(), 1u);
}

TEST(SelfTest, ARowThatEndsTheProcessIsAFailureAndTheOthersFollow) {
  // Runs again with --after, as doctor asks for.
  const Program program("case \"$*\" in *'--after mul'*)\n" + std::string(kBegin) + "\n" +
                        row_lines("sub", 4, 0) + kEnd + "exit 0;; esac\n" + kBegin + "\n" +
                        row_lines("add", 10, 0) +
                        "echo '{\"row\":\"mul\"}'\necho '{\"case\":\"f16/7\"}'\n"
                        "echo 'Memory access fault by GPU node-1' >&2\nkill -ABRT $$\n");
  const SelfTest test = program.run();
  EXPECT_EQ(test.broken, "");
  EXPECT_EQ(test.passed, 14);
  EXPECT_EQ(test.failed, 1);
  ASSERT_EQ(test.failures.size(), 1u);
  EXPECT_EQ(test.failures[0].row, "mul");
  EXPECT_EQ(test.failures[0].case_text, "f16/7");
  EXPECT_EQ(test.failures[0].text,
            "the process is ended by signal 6 (Aborted): Memory access fault by GPU node-1");
  EXPECT_EQ(test.kernels.size(), 2u);
}

TEST(SelfTest, ACaseThatHangsIsAFailure) {
  const Program program("case \"$*\" in *'--after add'*)\n" + std::string(kBegin) + "\n" + kEnd +
                        "exit 0;; esac\n" + kBegin +
                        "\necho '{\"row\":\"add\"}'\necho '{\"case\":\"f16/7\"}'\nexec sleep 60\n");
  SelfTestOptions options;
  options.silence_ms = 1000;
  const SelfTest test = program.run(options);
  ASSERT_EQ(test.failures.size(), 1u);
  EXPECT_EQ(test.failures[0].text, "no output for 1 s; it was ended");
  EXPECT_EQ(test.broken, "");
}

TEST(SelfTest, AProcessThatEndsBeforeItsFirstRowBreaksTheTest) {
  const SelfTest test = Program("echo 'cannot open the GPU' >&2\nexit 1\n").run();
  EXPECT_EQ(test.broken, "the process exits with status 1: cannot open the GPU");
  EXPECT_TRUE(contains(to_text(test), "did not end: the process exits with status 1"));
  Diagnosis diagnosis;
  add_findings(test, &diagnosis);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].id, "self-test-broken");
}

TEST(SelfTest, AGpuThatCrashesInEveryRowIsGivenUp) {
  const SelfTest test =
      Program(std::string(kBegin) + "\necho '{\"row\":\"add\"}'\nkill -SEGV $$\n").run();
  EXPECT_TRUE(contains(test.broken, "signal 11")) << test.broken;
  EXPECT_EQ(test.failures.size(), 5u);
}

TEST(SelfTest, BadArgumentsAreErrors) {
  EXPECT_ERROR(Program("echo 'wick-conformance: --ops: no row \"x\"' >&2\nexit 2\n").run(),
               kInvalidArgument, "doctor: wick-conformance: --ops: no row \"x\"");
  EXPECT_ERROR(Program("exit 77\n").run({.device = "rocm:7"}), kDeviceMissing,
               "there is no rocm:7");
}

TEST(SelfTest, LinesThatOnlyLookLikeOursAreIgnored) {
  const Program program(std::string(kBegin) + "\n" + row_lines("add", 1, 0) +
                        "echo '{\"kernel\": 7}'\necho '{\"row\":'\necho '{\"done\":{}}'\n" + kEnd);
  const SelfTest test = program.run();
  EXPECT_EQ(test.passed, 1);
  EXPECT_EQ(test.broken, "");
}

// ---- rates

TEST(Rates, OfTheCpuArePositive) {
  const Rates rates = measure_rates("cpu");
  EXPECT_EQ(rates.device, "cpu");
  ASSERT_GE(rates.rates.size(), 3u);
  EXPECT_EQ(rates.rates[0].name, "copy");
  for (const Rate& rate : rates.rates) EXPECT_GT(rate.measured, 0) << rate.name;
  EXPECT_TRUE(contains(to_text(rates), "GB/s"));
}

TEST(Rates, DataSheetsAreFoundByTheNameOfTheCard) {
  EXPECT_EQ(doctor::find_data_sheet("AMD Radeon RX 7900 XTX")->gb_per_s, 960);
  EXPECT_EQ(doctor::find_data_sheet("AMD Radeon RX 7900 XT")->gb_per_s, 800);
  EXPECT_EQ(doctor::find_data_sheet("NVIDIA H100 PCIe")->gb_per_s, 2039);
  EXPECT_EQ(doctor::find_data_sheet("NVIDIA H100 80GB HBM3")->gb_per_s, 3350);
  EXPECT_EQ(doctor::find_data_sheet("AMD Instinct MI300X VF")->f16_tflop_per_s, 1307);
  EXPECT_FALSE(doctor::find_data_sheet("GPU emulator"));
}

TEST(Rates, SlowCopiesAreAWarning) {
  Rates rates{.device = "rocm:0",
              .name = "AMD Radeon RX 7900 XTX",
              .architecture = "gfx1100",
              .rates = {{"copy", "GB/s", 700, 960}, {"f16 products", "TFLOP/s", 10, 122.8}},
              .source = "https://example.org",
              .broken = ""};
  Diagnosis diagnosis;
  add_findings(rates, &diagnosis);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_TRUE(contains(to_text(rates), "  copy            GB/s           700         960   73%\n"))
      << to_text(rates);
  rates.rates[0].measured = 300;
  add_findings(rates, &diagnosis);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].id, "slow-memory");
  EXPECT_EQ(diagnosis.findings[0].severity, Severity::kWarning);
}

TEST(Rates, ComeBackFromTheirLine) {
  TemporaryFolder folder;
  folder.write("line", "hello\n" + rates_line("cpu") + "\n");
  const Rates rates = measure_rates_by({"/bin/cat", folder.file("line")});
  EXPECT_EQ(rates.broken, "");
  EXPECT_EQ(rates.device, "cpu");
  EXPECT_GT(rates.rates.at(0).measured, 0);
  EXPECT_EQ(measure_rates_by({"/bin/false"}).broken,
            "the process that measures rates exits with status 1");
}

}  // namespace
}  // namespace wick::test
