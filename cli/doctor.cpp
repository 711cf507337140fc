// wick doctor: finds the causes that keep a machine's GPUs from working, and their cures.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "failure.h"
#include "wick/doctor/doctor.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

constexpr const char* kAskBackends = "--ask-backends";

struct Options {
  bool json = false, report = false, ask_backends = false;
};

void run(const Options& options) {
  if (options.ask_backends) {
    std::printf("%s\n", backends_line().c_str());
    return;
  }
  // A vendor's runtime may crash or block the process that opens it.
  const Machine machine =
      this_machine({.backends_command = {"/proc/self/exe", "doctor", kAskBackends}});
  const Diagnosis diagnosis = examine(machine);
  std::string text = options.json ? to_json(to_settings(diagnosis)) + "\n" : to_text(diagnosis);
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
  command
      ->add_flag(kAskBackends, options->ask_backends,
                 "print the backends' devices as JSON: what doctor runs in a process of its own")
      ->group("");
  command->footer("Exit status: 0 if no problem is found (warnings and notes may be), else 1.");
  command->callback([options] { run(*options); });
}

}  // namespace wick::cli
