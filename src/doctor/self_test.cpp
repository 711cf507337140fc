#include "wick/doctor/self_test.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "base/subprocess.h"
#include "doctor/text.h"
#include "wick/io/json.h"

namespace wick {
namespace {

constexpr int kBadUsage = 2, kAbsent = 77;  // exit statuses of wick-conformance
constexpr int kMaxBreaks = 5;               // processes that a row ended or hung
constexpr size_t kPrintedKernels = 20;

/// Reads the lines of wick-conformance --mode kernels.
class Reader {
 public:
  explicit Reader(const SelfTestOptions& options) : options_(options) {}

  void take(std::string_view part) {
    rest_ += part;
    for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
      take_line(rest_.substr(0, end));
  }

  SelfTest test;
  std::string row, case_text;     // that run now
  std::vector<std::string> rows;  // all
  std::string last_words;         // the last line that is not JSON: an error, or a runtime's
  bool ended = false;

  /// The kernels of all processes.
  std::vector<KernelResult> kernels() const {
    std::vector<KernelResult> all;
    for (const auto& [key, kernel] : kernels_) all.push_back(kernel);
    return all;
  }

 private:
  void take_line(const std::string& line) {
    if (!line.starts_with("{\"")) {
      if (!line.empty()) last_words = line;
      return;
    }
    try {
      take_settings(parse_json(line, "self-test"));
    } catch (const Error&) {
      last_words = line;  // a line of a runtime that begins alike
    }
  }

  void take_settings(const Settings& line) {
    const auto& [key, value] = line.entries().at(0);
    if (key == "row") {
      row = line.text("row");
      case_text.clear();
      if (options_.progress) options_.progress(row, ++rows_begun_, int64_t(rows.size()));
    } else if (key == "case") {
      case_text = line.text("case");
    } else if (const Settings* group = line.group(key)) {
      take_group(key, *group);
    }
  }

  void take_group(const std::string& key, const Settings& group) {
    if (key == "begin" && rows.empty()) {
      test.device = group.text("device");
      test.name = group.text("name");
      test.architecture = group.text("architecture");
      rows = group.texts("rows");
    } else if (key == "done") {
      test.passed += group.integer("passed");
      test.failed += group.integer("failed");
      case_text.clear();
    } else if (key == "failure") {
      test.failures.push_back(
          {group.text("row"), group.text("case"), group.text("text"), group.texts("kernels")});
    } else if (key == "kernel") {
      KernelResult& kernel =
          kernels_[group.text("op") + " " + group.text("dtypes") + " " + group.text("name")];
      kernel.op = group.text("op");
      kernel.dtypes = group.text("dtypes");
      kernel.name = group.text("name");
      kernel.library = group.flag_or("library", false);
      kernel.passed += group.integer("passed");
      kernel.failed += group.integer("failed");
      kernel.reason = group.text_or("reason", "");
    } else if (key == "end") {
      ended = true;
    }
  }

  const SelfTestOptions& options_;
  std::string rest_;  // of a line
  std::map<std::string, KernelResult> kernels_;
  int64_t rows_begun_ = 0;
};

std::vector<std::string> command_of(const SelfTestOptions& options, const std::string& after) {
  std::vector<std::string> command = {
      options.program, "--mode",  "kernels",        "--device",
      options.device,  "--brief", "--max-elements", std::to_string(options.max_elements)};
  if (!options.rows.empty()) {
    std::string list;
    for (const std::string& row : options.rows) list += (list.empty() ? "" : ",") + row;
    command.insert(command.end(), {"--ops", list});
  }
  if (!after.empty()) command.insert(command.end(), {"--after", after});
  return command;
}

struct Totals {
  std::vector<const KernelResult*> agree, differ, not_reached, libraries;
};
Totals totals_of(const SelfTest& test) {
  Totals totals;
  for (const KernelResult& kernel : test.kernels) {
    if (kernel.failed > 0)
      totals.differ.push_back(&kernel);
    else if (kernel.passed > 0)
      totals.agree.push_back(&kernel);
    else
      (kernel.library ? totals.libraries : totals.not_reached).push_back(&kernel);
  }
  // Those that failed most of their cases first.
  std::stable_sort(
      totals.differ.begin(), totals.differ.end(), [](const KernelResult* a, const KernelResult* b) {
        return a->failed * (b->passed + b->failed) > b->failed * (a->passed + a->failed);
      });
  return totals;
}

Settings settings_of(const KernelResult& kernel) {
  Settings settings("kernel");
  settings.set("op", kernel.op);
  settings.set("dtypes", kernel.dtypes);
  settings.set("name", kernel.name);
  settings.set("passed", kernel.passed);
  settings.set("failed", kernel.failed);
  if (!kernel.reason.empty()) settings.set("reason", kernel.reason);
  return settings;
}
Setting::List list_of(const std::vector<const KernelResult*>& kernels) {
  Setting::List list;
  for (const KernelResult* kernel : kernels) list.push_back(settings_of(*kernel));
  return list;
}

/// "gated_linear (75), linear (12)": kernels per op, most first.
std::string by_op(const std::vector<const KernelResult*>& kernels) {
  std::map<std::string, int> count;
  for (const KernelResult* kernel : kernels) count[kernel->op]++;
  std::vector<std::pair<std::string, int>> order(count.begin(), count.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [op, n] : order)
    text += (text.empty() ? "" : ", ") + op + " (" + std::to_string(n) + ")";
  return text;
}

}  // namespace

SelfTest test_kernels(const SelfTestOptions& options) {
  Reader reader(options);
  const auto begin = std::chrono::steady_clock::now();
  const ProgramLimits limits{.time = std::chrono::hours(12),
                             .silence = std::chrono::milliseconds(options.silence_ms)};
  std::string after;
  for (int breaks = 0;; breaks++) {
    std::string ending;
    reader.ended = false;
    reader.row.clear();
    reader.last_words.clear();
    try {
      const Finished finished = run_program(command_of(options, after), limits,
                                            [&](std::string_view part) { reader.take(part); });
      check(finished.status != kBadUsage || !reader.rows.empty(), ErrorCode::kInvalidArgument,
            "doctor", reader.last_words);
      check(finished.status != kAbsent, ErrorCode::kDeviceMissing, "doctor", "there is no ",
            options.device);
      if (!reader.ended) ending = "the process " + ending_of(finished);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kIo) throw;
      // The program's path stands before the reason.
      const std::string text = error.what(), path = options.program + ": ";
      ending = text.starts_with(path) ? text.substr(path.size()) : text;
      if (ending == "interrupted") throw;
    }
    if (ending.empty()) break;
    if (!reader.last_words.empty()) ending += ": " + reader.last_words;
    if (reader.row.empty() || breaks == kMaxBreaks) {  // before the first case, or time after time
      reader.test.broken = ending;
      break;
    }
    reader.test.failed++;
    reader.test.failures.push_back({reader.row, reader.case_text, ending, {}});
    after = reader.row;
    if (!reader.rows.empty() && after == reader.rows.back()) break;
  }
  reader.test.is_part = !options.rows.empty();
  reader.test.kernels = reader.kernels();
  reader.test.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return reader.test;
}

Settings to_settings(const SelfTest& test) {
  const Totals totals = totals_of(test);
  Settings settings("self-test");
  settings.set("device", test.device);
  settings.set("name", test.name);
  settings.set("architecture", test.architecture);
  settings.set("broken", test.broken);
  settings.set("cases_passed", test.passed);
  settings.set("cases_failed", test.failed);
  settings.set("seconds", test.seconds);
  settings.set("kernels", int64_t(test.kernels.size()));
  settings.set("agree", int64_t(totals.agree.size()));
  settings.set("differ", list_of(totals.differ));
  settings.set("not_tested", list_of(totals.not_reached));
  settings.set("libraries_not_tested", list_of(totals.libraries));
  Setting::List failures;
  for (const SelfTestFailure& failure : test.failures) {
    Settings entry("failure");
    entry.set("row", failure.row);
    entry.set("case", failure.case_text);
    entry.set("text", failure.text);
    entry.set("kernels", Setting::List(failure.kernels.begin(), failure.kernels.end()));
    failures.push_back(entry);
  }
  settings.set("failures", failures);
  return settings;
}

std::string to_text(const SelfTest& test) {
  using doctor::append_paragraph;
  const Totals totals = totals_of(test);
  std::string out = "kernels of " + test.device +
                    (test.name.empty() ? "" : ", " + test.name + ", " + test.architecture) + "\n";
  if (!test.broken.empty())
    append_paragraph(&out, "  ", "the self-test did not end: " + test.broken);
  const auto line = [&](size_t n, const std::string& text) {
    char number[32];
    std::snprintf(number, sizeof number, "  %6zu  ", n);
    append_paragraph(&out, number, text);
  };
  line(totals.agree.size(), "agree with the reference");
  line(totals.differ.size(), "differ from it in some case");
  line(totals.not_reached.size(),
       "not tested: no case reaches them" +
           (totals.not_reached.empty() || test.is_part ? "" : ": " + by_op(totals.not_reached)));
  if (!totals.libraries.empty())
    line(totals.libraries.size(),
         "of vendors' libraries, not tested: wick checks a library at its "
         "first call");
  for (size_t i = 0; i < totals.differ.size() && i < kPrintedKernels; i++) {
    const KernelResult& kernel = *totals.differ[i];
    append_paragraph(&out, "  differs ",
                     kernel.name + " (" + kernel.dtypes + "), in " + std::to_string(kernel.failed) +
                         " of " + std::to_string(kernel.passed + kernel.failed) + " cases");
  }
  if (totals.differ.size() > kPrintedKernels)
    out += "  and " + std::to_string(totals.differ.size() - kPrintedKernels) + " more (--json)\n";
  for (size_t i = 0; i < test.failures.size() && i < kPrintedKernels; i++) {
    const SelfTestFailure& failure = test.failures[i];
    append_paragraph(&out, "  failed  ",
                     failure.row +
                         (failure.case_text.empty() ? "" : ", case " + failure.case_text) + ": " +
                         failure.text);
  }
  char cases[96];
  std::snprintf(cases, sizeof cases, "  %lld cases passed, %lld failed, in %.0f s%s\n",
                static_cast<long long>(test.passed), static_cast<long long>(test.failed),
                test.seconds, test.is_part ? " (a part of the test: --ops)" : "");
  return out + cases;
}

void add_findings(const SelfTest& test, Diagnosis* diagnosis) {
  const Totals totals = totals_of(test);
  if (!test.broken.empty())
    diagnosis->add(
        {.id = "self-test-broken",
         .severity = Severity::kProblem,
         .problem = "the self-test of the kernels did not run to its end: " + test.broken,
         .cure = "sudo dmesg shows whether the GPU is hung, which a restart cures; see the "
                 "other findings"});
  if (test.failed == 0) return;
  const bool is_library = !totals.differ.empty() &&
                          std::all_of(totals.differ.begin(), totals.differ.end(),
                                      [](const KernelResult* kernel) { return kernel->library; });
  diagnosis->add(
      {.id = is_library ? "library-differs" : "kernels-differ",
       .severity = Severity::kProblem,
       .problem = doctor::counted(test.failed, "case") + " of the kernels' self-test failed on " +
                  test.device + "; " + doctor::counted(int64_t(totals.differ.size()), "kernel") +
                  " ran in them: results on this device cannot be trusted",
       .cure =
           is_library
               ? "WICK_GPU_LIBS=off computes without the vendor's libraries"
               : "see the other findings (versions, variables) first; then open an issue with the "
                 "output of wick doctor --kernels --report. --device cpu computes meanwhile"});
}

}  // namespace wick
