#include "kernels.h"

#include <algorithm>
#include <chrono>

#include "wick/core/backend.h"
#include "wick/io/json.h"
#include "witness.h"

namespace wick::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPrintedFailures = 5;  // of a row

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void print(const std::string& key, const Setting& value) {
  Settings line("line");
  line.set(key, value);
  std::printf("%s\n", to_json(line, -1).c_str());
  std::fflush(stdout);  // a kernel may end the process
}

/// "f16", "q4_0" of "f16,q4_0:f16".
std::set<std::string> names_of(const std::string& dtypes) {
  std::set<std::string> names;
  std::string name;
  for (const char c : dtypes + ",") {
    if (c != ',' && c != ':') {
      name += c;
      continue;
    }
    names.insert(name);
    name.clear();
  }
  return names;
}

/// Whether a row's bound for one dtype holds for the other too: blocks are unpacked exactly.
bool are_alike(DType a, DType b) { return is_block(a) && is_block(b); }

struct Counts {
  int64_t passed = 0, failed = 0;
};

class KernelTest {
 public:
  KernelTest(const Device& device, const Options& options)
      : device_(device), options_(options), witness_(device) {}

  /// Runs the row's sample, then looks for cases that reach more of its kernels.
  void run(const Row& row) {
    print("row", row.op);
    const Clock::time_point begin = Clock::now();
    const Counts before = total_;
    printed_ = 0;
    ops_.clear();
    Report report;
    const CasesOf cases = [&](const Row& part, const Options& selection) {
      return cases_of(part, selection, device_.is_emulated());
    };
    for (const Case& c : cases_on(row, options_, cases, report)) run(row, c);
    reach(row);
    print_counts();
    Settings done("done");
    done.set("row", row.op);
    done.set("passed", total_.passed - before.passed);
    done.set("failed", total_.failed - before.failed);
    done.set("seconds", seconds_since(begin));
    print("done", done);
  }

  /// Prints the kernels that no case has reached.
  void finish(Clock::time_point begin) {
    for (WitnessedKernel* kernel : witness_.kernels())
      if (!seen_.count(kernel)) print_kernel(*kernel, {});
    Settings end("end");
    end.set("passed", total_.passed);
    end.set("failed", total_.failed);
    end.set("seconds", seconds_since(begin));
    print("end", end);
  }

  bool passed() const { return total_.failed == 0 && total_.passed > 0; }

 private:
  void run(const Row& row, const Case& c) {
    check(row, c, nullptr);
    // Libraries choose their calls by size, and check themselves at the first one.
    for (WitnessedKernel* other : witness_.take_passed_over())
      if (!row.chosen_alone && !other->is_proven && !other->is_library()) check(row, c, other);
    witness_.take_passed_over();
  }

  /// Checks a case by the kernels that the backend prefers, or by this one.
  void check(const Row& row, const Case& c, const WitnessedKernel* preferred) {
    const std::string text = to_string(c);
    print("case", text);
    witness_.take_launched();
    witness_.prefer(preferred);
    const Outcome outcome = check_case(row, c, witness_.device(), options_.seed);
    const bool declined = witness_.preferred_declined();
    witness_.prefer(nullptr);
    const std::set<WitnessedKernel*> launched = witness_.take_launched();
    for (const WitnessedKernel* kernel : launched) ops_.insert(kernel->op);
    if (declined) return;  // the preferred kernel cannot serve the case, which says nothing
    for (WitnessedKernel* kernel : launched) {
      (outcome.passed() ? row_counts_[kernel].passed : row_counts_[kernel].failed)++;
      kernel->is_proven = true;
      seen_.insert(kernel);
    }
    (outcome.passed() ? total_.passed : total_.failed)++;
    if (outcome.passed() || ++printed_ > kPrintedFailures) return;
    Settings failure("failure");
    failure.set("row", row.op);
    failure.set("case", text);
    failure.set("text", outcome.text);
    Setting::List names;
    for (const WitnessedKernel* kernel : launched) names.push_back(kernel->name);
    failure.set("kernels", names);
    print("failure", failure);
  }

  /// Tries the row's geometries with the dtypes of kernels that its ops have and that nothing has
  /// reached.
  void reach(const Row& row) {
    std::vector<Geometry> geometries = row.geometries;
    if (device_.is_rocm() || device_.is_cuda()) {
      for (const auto* more : {&row.long_geometries, &row.wide_geometries})
        geometries.insert(geometries.end(), more->begin(), more->end());
    } else {
      std::erase_if(geometries, [&](const Geometry& g) {
        return options_.max_elements > 0 && elements_of(g) > options_.max_elements;
      });
    }
    std::stable_sort(
        geometries.begin(), geometries.end(),
        [](const Geometry& a, const Geometry& b) { return elements_of(a) < elements_of(b); });
    for (const std::vector<DType>& dtypes : dtypes_to_reach(row)) {
      for (const Geometry& geometry : geometries) {
        if (!is_wanted(dtypes)) break;
        Case c{dtypes, geometry, {}, Values::kRandom, CompositeMode::kAuto};
        if (row.fused) c.composite = CompositeMode::kNever;
        c.places.assign(geometry.operands.size(), OperandLayout::kWhole);
        for (WitnessedKernel* kernel : reached_by(row, c))
          if (!kernel->is_proven && !kernel->is_library()) check(row, c, kernel);
      }
    }
    witness_.take_passed_over();
  }

  /// Whether a kernel of the row's ops that nothing has reached takes these dtypes.
  bool is_wanted(const std::vector<DType>& dtypes) {
    if (!selects(options_, dtypes)) return false;
    return std::any_of(unreached_.begin(), unreached_.end(), [&](const auto& entry) {
      const auto& [kernel, names] = entry;
      return !kernel->is_proven && std::all_of(dtypes.begin(), dtypes.end(), [&](DType d) {
        return names.count(dtype_name(d)) > 0;
      });
    });
  }

  /// The row's combinations of dtypes, and those with another dtype in place of one, that are wanted.
  std::set<std::vector<DType>> dtypes_to_reach(const Row& row) {
    unreached_.clear();
    std::set<std::string> all;
    for (const WitnessedKernel* kernel : witness_.kernels()) {
      if (kernel->is_proven || kernel->is_library() || !ops_.count(kernel->op)) continue;
      unreached_.emplace_back(kernel, names_of(kernel->dtypes));
      all.insert(unreached_.back().second.begin(), unreached_.back().second.end());
    }
    std::set<std::vector<DType>> tried, wanted;
    const auto add = [&](const std::vector<DType>& dtypes) {
      if (tried.insert(dtypes).second && is_wanted(dtypes)) wanted.insert(dtypes);
    };
    for (const std::vector<DType>& dtypes : row.dtypes) {
      add(dtypes);
      for (int to = 0; to < kNumDTypes && !all.empty(); to++) {
        if (!all.count(dtype_name(DType(to)))) continue;
        for (const DType from : dtypes) {
          if (!are_alike(from, DType(to))) continue;
          std::vector<DType> other = dtypes;
          std::replace(other.begin(), other.end(), from, DType(to));
          add(other);
        }
      }
    }
    return wanted;
  }

  /// The kernels without a case that accept this one.
  std::set<WitnessedKernel*> reached_by(const Row& row, const Case& c) {
    witness_.take_launched();
    witness_.take_passed_over();
    print("case", to_string(c));
    try {
      std::vector<Tensor> views;
      for (const Placement& p : operands_of(row, c, options_.seed))
        views.push_back(p.view(upload_buffer(p, witness_.device())));
      const CompositeScope scope(c.composite);
      row.run(views, c);
      witness_.device().synchronize();
    } catch (const std::exception&) {
      return {};  // the row does not take the dtypes
    }
    std::set<WitnessedKernel*> kernels = witness_.take_launched();
    if (!row.chosen_alone) kernels.merge(witness_.take_passed_over());
    return kernels;
  }

  void print_kernel(const WitnessedKernel& kernel, const Counts& counts) {
    Settings line("kernel");
    line.set("op", kernel.op);
    line.set("dtypes", kernel.dtypes);
    line.set("name", kernel.name);
    line.set("library", kernel.is_library());
    line.set("passed", counts.passed);
    line.set("failed", counts.failed);
    line.set("reason", counts.passed + counts.failed == 0 && kernel.reason ? kernel.reason : "");
    print("kernel", line);
  }
  /// Prints the kernels that ran in the row's cases.
  void print_counts() {
    for (const auto& [kernel, counts] : row_counts_) print_kernel(*kernel, counts);
    row_counts_.clear();
  }

  const Device device_;
  const Options& options_;
  Witness witness_;
  std::map<const WitnessedKernel*, Counts> row_counts_;
  std::set<const WitnessedKernel*> seen_;
  std::set<std::string> ops_;  // that the row calls
  std::vector<std::pair<const WitnessedKernel*, std::set<std::string>>> unreached_;  // and dtypes
  Counts total_;
  int printed_ = 0;
};

}  // namespace

bool test_kernels(const std::vector<Row>& rows, const Device& device, const Options& options) {
  const Clock::time_point begin = Clock::now();
  Settings facts("begin");
  facts.set("device", to_string(device));
  facts.set("name", std::string(device.info().name));
  facts.set("architecture", std::string(device.info().architecture));
  Setting::List names;
  for (const Row& row : rows) names.push_back(row.op);
  facts.set("rows", names);
  print("begin", facts);
  // Lives as long as the process, as its backend does.
  auto* const test = new KernelTest(device, options);
  for (const Row& row : rows) test->run(row);
  test->finish(begin);
  return test->passed();
}

}  // namespace wick::conformance
