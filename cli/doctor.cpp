// wick doctor: finds the causes that keep a machine's GPUs from working, and their cures; tests the
// kernels on a GPU.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "commands.h"
#include "failure.h"
#include "paths.h"
#include "report.h"
#include "wick/doctor/doctor.h"
#include "wick/doctor/self_test.h"
#include "wick/io/file.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

// A vendor's runtime may crash or block the process that opens it: these are for processes of their
// own.
constexpr const char* kAskBackends = "--ask-backends";
constexpr const char* kMeasureRates = "--measure-rates";
constexpr const char* kThisProgram = "/proc/self/exe";

struct Options {
  bool json = false, report = false, kernels = false;
  std::string device;
  std::vector<std::string> rows;
  bool ask_backends = false;
  std::string measure_rates;
};

/// The program that tests kernels, which is installed beside this one.
std::string conformance_program() {
  const std::string here = this_program();
  const std::string program = here.substr(0, here.rfind('/') + 1) + "wick-conformance";
  check(is_there(program), ErrorCode::kIo, "doctor",
        "--kernels needs the program wick-conformance, which is not at ", program);
  return program;
}

/// The GPU to test: the one that the user names, else the first discrete one, else any.
std::string device_to_test(const Options& options, const Diagnosis& diagnosis) {
  if (!options.device.empty()) return options.device;
  std::string integrated;
  for (const BackendStatus& status : diagnosis.backends) {
    if (status.name != "rocm" && status.name != "cuda") continue;
    for (const DeviceInfo& info : status.devices) {
      const std::string name = status.name + ":" + std::to_string(info.ordinal);
      if (!info.integrated) return name;
      if (integrated.empty()) integrated = name;
    }
  }
  check(
      !integrated.empty(), ErrorCode::kDeviceMissing, "doctor",
      "--kernels: no GPU can be used (wick doctor says why); --device emu:32 tests the kernels on "
      "the emulator");
  return integrated;
}

SelfTest run_self_test(const Options& options, const std::string& device) {
  std::optional<Progress> bar;
  SelfTestOptions test{.program = conformance_program(), .device = device, .rows = options.rows};
  test.progress = [&](const std::string& row, int64_t done, int64_t total) {
    if (!bar) bar.emplace(0, total, ProgressOptions{.log = false});
    bar->update(done, row);
  };
  return test_kernels(test);
}

void run(const Options& options) {
  if (options.ask_backends) {
    std::printf("%s\n", backends_line().c_str());
    return;
  }
  if (!options.measure_rates.empty()) {
    std::printf("%s\n", rates_line(options.measure_rates).c_str());
    return;
  }
  const Machine machine =
      this_machine({.backends_command = {kThisProgram, "doctor", kAskBackends}});
  Diagnosis diagnosis = examine(machine);
  std::optional<SelfTest> test;
  std::optional<Rates> rates;
  if (options.kernels) {
    const std::string device = device_to_test(options, diagnosis);
    test = run_self_test(options, device);
    rates = measure_rates_by({kThisProgram, "doctor", kMeasureRates, device});
    add_findings(*test, &diagnosis);
    add_findings(*rates, &diagnosis);
  }
  std::string text;
  if (options.json) {
    Settings all = to_settings(diagnosis);
    if (test) all.set("kernels", to_settings(*test));
    if (rates) all.set("rates", to_settings(*rates));
    text = to_json(all) + "\n";
  } else {
    if (test) text += to_text(*test) + "\n" + to_text(*rates) + "\n";
    text += to_text(diagnosis);
  }
  if (options.report) text = without_personal_names(text, machine);
  if (options.report && !options.json) text = "```\n" + text + "```\n";
  std::printf("%s", text.c_str());
  if (diagnosis.count(Severity::kProblem) > 0) throw ProblemsFound();
}

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("doctor", "what keeps GPUs from working on this machine, and the cures");
  const auto options = std::make_shared<Options>();
  command->add_flag("--json", options->json, "print the diagnosis as one object of JSON");
  command->add_flag(
      "--report", options->report,
      "print a report to paste into an issue, without names of the user and the machine");
  CLI::Option* kernels = command->add_flag(
      "--kernels", options->kernels,
      "test every kernel of a GPU beside a reference, and measure copies and matrix products");
  command
      ->add_option("--device", options->device,
                   "with --kernels: rocm[:N], cuda[:N], emu:32, emu:64 (default: the first GPU)")
      ->needs(kernels);
  command
      ->add_option(
          "--ops", options->rows,
          "with --kernels: only these rows of wick-conformance --list, separated by commas")
      ->delimiter(',')
      ->needs(kernels);
  command
      ->add_flag(kAskBackends, options->ask_backends,
                 "print the backends' devices as JSON: what doctor runs in a process of its own")
      ->group("");
  command
      ->add_option(kMeasureRates, options->measure_rates,
                   "print a device's rates as JSON: what doctor runs in a process of its own")
      ->group("");
  command->footer("Exit status: 0 if no problem is found (warnings and notes may be), else 1.");
  command->callback([options] { run(*options); });
}

}  // namespace wick::cli
