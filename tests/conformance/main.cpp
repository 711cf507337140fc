// wick-conformance: every op, on every device, against the reference.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench.h"
#include "devices/absent.h"
#include "gradient.h"
#include "kernels.h"
#include "runner.h"
#include "wick/base/threads.h"
#include "wick/core/backend.h"

namespace wick::conformance {

namespace {

enum class Mode { kCheck, kGrad, kBench, kSupport, kKernels };
const std::map<std::string, Mode> kModes = {{"check", Mode::kCheck},
                                            {"grad", Mode::kGrad},
                                            {"bench", Mode::kBench},
                                            {"support", Mode::kSupport},
                                            {"kernels", Mode::kKernels}};
constexpr int kBadUsage = 2;
constexpr int kNotThere =
    77;  // nothing failed, but a device that was asked for is not there: CTest's "skipped"

struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool selected(const Options& options, const std::string& op) {
  return options.ops.empty() ||
         std::find(options.ops.begin(), options.ops.end(), op) != options.ops.end();
}

void check_names(const Options& options, const std::vector<Row>& rows) {
  for (const std::string& op : options.long_ops) {
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return row.op == op; }))
      throw BadUsage("--long: no row \"" + op + "\" (--list shows them)");
  }
  for (const std::string& op : options.ops) {
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.op == op; });
    const std::vector<Behaviour> behaviours = all_behaviours();
    const bool behaves = std::any_of(behaviours.begin(), behaviours.end(),
                                     [&](const Behaviour& b) { return b.op == op; });
    if (!known && !behaves) throw BadUsage("--ops: no row \"" + op + "\" (--list shows them)");
  }
  for (const std::string& name : options.dtypes) {
    const bool known = std::any_of(std::begin(detail::kDTypeFacts), std::end(detail::kDTypeFacts),
                                   [&](const auto& facts) { return facts.name == name; });
    if (!known) throw BadUsage("--dtypes: no dtype \"" + name + "\"");
  }
}

/// The devices named, or all that are there; what is not there is noted in the report.
std::vector<Device> devices_of(const std::vector<std::string>& names, Report& report) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    try {
      std::string why;
      if (const std::optional<Device> device = test::find_device(name, &why))
        devices.push_back(*device);
      else
        report.skip(name, why);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported)  // the instruction set that WICK_CPU names
        throw BadUsage(std::string("--device: ") + error.what());
      report.skip(name, error.what());
    }
  }
  if (!names.empty()) return devices;
  for (const BackendStatus& backend : backend_status()) {
    for (const DeviceInfo& info : backend.devices) {
      devices.push_back(Device::parse(
          backend.name == "cpu" ? "cpu" : backend.name + ":" + std::to_string(info.ordinal)));
    }
    if (backend.devices.empty()) report.skip(backend.name, backend.why_none);
  }
  return devices;
}

std::string command_for(const std::string& device, const std::string& op, const Options& options,
                        const std::string& rest) {
  std::string variables;  // that choose what runs
  for (const char* name : {"WICK_CPU", "WICK_EMU", "WICK_ALLOC", "WICK_COMPOSITE"}) {
    if (const char* value = std::getenv(name)) variables += std::string(name) + "=" + value + " ";
  }
  return variables + "wick-conformance --device " + device + " --threads " +
         std::to_string(num_threads()) + " --ops '" + op + "' --seed " +
         std::to_string(options.seed) + rest;
}

std::string case_option(const std::string& text) { return " --case '" + text + "'"; }

/// Adds the time from its construction to its end to the row's seconds.
class RowTimer {
 public:
  RowTimer(Report& report, const std::string& op) : report_(report), op_(op) {}
  ~RowTimer() {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin_;
    report_.add_seconds(op_, taken.count());
  }
  RowTimer(const RowTimer&) = delete;
  RowTimer& operator=(const RowTimer&) = delete;

 private:
  Report& report_;
  const std::string& op_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void check(const std::vector<Row>& rows, const Device& device, const Options& options,
           Report& report) {
  const std::string name = to_string(device);
  const CasesOf cases = [&](const Row& row, const Options& selection) {
    return cases_of(row, selection, device.is_emulated());
  };
  for (const Row& row : rows) {
    const RowTimer timer(report, row.op);
    for (const Case& c : cases_on(row, options, cases, report)) {
      const std::string text = to_string(c);
      report.add(row, name, text, command_for(name, row.op, options, case_option(text)),
                 check_case(row, c, device, options.seed));
    }
  }
  if (!options.case_text.empty() || !options.dtypes.empty()) return;
  for (const Behaviour& b : all_behaviours()) {
    if (!selected(options, b.op)) continue;
    Outcome outcome;
    try {
      b.check(device);
      outcome = passed();
    } catch (const std::exception& error) {
      outcome = failed(error.what());
    }
    report.add(b.op, name, b.name, command_for(name, b.op, options, ""), outcome);
  }
}

void check_gradients(const std::vector<Row>& rows, const Device& device, const Options& options,
                     Report& report) {
  const std::string name = to_string(device);
  Rules met;
  for (const Row& row : rows) {
    const RowTimer timer(report, row.op);
    for (const Case& c : cases_on(gradient_row(row), options, gradient_cases, report)) {
      const std::string text = to_string(c);
      report.add(row.op, name, text,
                 command_for(name, row.op, options, " --mode grad" + case_option(text)),
                 check_gradient(row, c, device, options, &met));
    }
  }
  // Rules are of no device, and the CPU has every kernel.
  if (!device.is_cpu() || !options.ops.empty() || !options.case_text.empty()) return;
  report.add(
      "rules", name, "each has a row",
      "wick-conformance --mode grad --device " + name + " --seed " + std::to_string(options.seed),
      check_rules(rows, met, options.seed));
}

void list(const std::vector<Row>& rows, const Options& options) {
  for (const Row& row : rows) {
    std::printf(
        "%-16s %4zu cases, %5zu with --full, %s\n", row.op.c_str(),
        cases_of(row, options, false).size(),
        [&] {
          Options full = options;
          full.full = true;
          return cases_of(row, full, false).size();
        }(),
        describe(row.tolerance).c_str());
  }
}

/// Bounds are judged by the CPU's whole sample, or the product, of the default seed: the worst error
/// of any one seed is chance, and of that one and others together it is no smaller.
Report::Bounds bounds_of(Mode mode, const Options& options, const std::vector<Device>& devices) {
  if (mode != Mode::kCheck) return Report::Bounds::kNone;
  const bool on_cpu = std::any_of(devices.begin(), devices.end(),
                                  [](const Device& device) { return device.is_cpu(); });
  const bool whole = !options.brief && options.max_elements == 0 && options.dtypes.empty() &&
                     options.case_text.empty() && !options.composite &&
                     options.seed == Options{}.seed;
  return on_cpu && whole ? Report::Bounds::kJudge : Report::Bounds::kShow;
}

int run(Mode mode, const Options& options, const std::vector<std::string>& device_names) {
  Report report;
  const std::vector<Device> devices = devices_of(device_names, report);
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [&](const Row& row) { return !selected(options, row.op); });
  const auto last = std::find_if(rows.begin(), rows.end(),
                                 [&](const Row& row) { return row.op == options.after; });
  if (last != rows.end()) rows.erase(rows.begin(), last + 1);
  if (mode == Mode::kSupport) {
    print_support(rows, devices, options);
    return 0;
  }
  if (mode == Mode::kKernels) {
    if (device_names.size() != 1) throw BadUsage("--mode kernels: expected one --device");
    if (devices.empty()) return kNotThere;
    return test_kernels(rows, devices[0], options) ? 0 : 1;
  }
  for (const Device& device : devices) {
    std::printf("%s: %s, %s\n", to_string(device).c_str(), device.info().name,
                device.info().architecture);
  }
  if (mode == Mode::kBench) {
    for (const Row& row : rows) {
      for (const Device& device : devices) bench(row, device, options);
    }
    return 0;
  }
  std::printf("%s, seed %llu\n",
              options.full    ? "the whole product"
              : options.brief ? "a brief sample"
                              : "a pairwise sample",
              static_cast<unsigned long long>(options.seed));
  for (const Device& device : devices) {
    const auto begin = std::chrono::steady_clock::now();
    if (mode == Mode::kCheck)
      check(rows, device, options, report);
    else
      check_gradients(rows, device, options, report);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%s took %.1f s\n", to_string(device).c_str(), seconds);
    std::fflush(stdout);
  }
  const bool passed = report.finish(bounds_of(mode, options, devices));
  if (devices.size() < device_names.size() && (passed || devices.empty())) return kNotThere;
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace wick::conformance

int main(int argc, char** argv) {
  using namespace wick::conformance;
  CLI::App app("Checks every op of wick on every device against the reference.");
  Options options;
  std::string mode = "check", composite;
  std::vector<std::string> devices;
  bool only_list = false;
  std::optional<int> threads;
  app.add_option("--device", devices, "cpu, emu:32, rocm:0 ...; default: all that are there")
      ->delimiter(',');
  app.add_option("--ops", options.ops, "rows, by name; default: all")->delimiter(',');
  app.add_option("--after", options.after, "only the rows after this one");
  app.add_option("--dtypes", options.dtypes, "default: all")->delimiter(',');
  app.add_option("--mode", mode,
                 "check (default), grad, bench, support; kernels: each kernel that accepts a case, "
                 "on one device, as lines of JSON")
      ->check(CLI::IsMember({"check", "grad", "bench", "support", "kernels"}));
  app.add_option("--case", options.case_text, "one case, as a failure names it");
  app.add_option("--seed", options.seed, "of the sample and of the values; default 1");
  app.add_option("--max-elements", options.max_elements,
                 "leave out larger operands (for slow devices)")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--long", options.long_ops,
         "with --max-elements: rows whose long cases, which threads share, run all the same")
      ->delimiter(',');
  app.add_option("--differences", options.differences,
                 "of each gradient compare at most this many elements, drawn; default: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", threads,
                 "of the CPU, which then computes each case in one too; default: WICK_THREADS, or "
                 "its cores");
  app.add_option("--composite", composite,
                 "of fused rows only this: never (the kernels), always (the composites)")
      ->check(CLI::IsMember({"never", "always"}));
  app.add_flag("--brief", options.brief,
               "rows that another row represents run on contiguous operands alone");
  app.add_flag("--full", options.full, "the whole product instead of a pairwise sample");
  app.add_flag("--list", only_list, "print the rows");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "wick-conformance: %s\n", error.what());
    return kBadUsage;
  }
  if (!composite.empty())
    options.composite =
        composite == "never" ? wick::CompositeMode::kNever : wick::CompositeMode::kAlways;
  try {
    if (threads) {
      try {
        wick::set_num_threads(*threads);
      } catch (const wick::Error& error) {
        throw BadUsage(std::string("--threads: ") + error.what());
      }
    }
    check_names(options, all_rows());
    if (only_list) {
      list(all_rows(), options);
      return 0;
    }
    return run(kModes.at(mode), options, devices);
  } catch (const BadUsage& error) {
    std::fprintf(stderr, "wick-conformance: %s\n", error.what());
    return kBadUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wick-conformance: %s\n", error.what());
    return 1;
  }
}
