// Multiplies rows into cases and checks them on a device.
#pragma once
#include <cstdio>
#include <map>

#include "bounds.h"
#include "placement.h"

namespace wick::conformance {

struct Options {
  std::vector<std::string> ops = {};     // none: all
  std::string after = {};                // only the rows after this one; "": all
  std::vector<std::string> dtypes = {};  // none: all; else combinations of these, and of ids (i64)
  std::string case_text = {};            // this one, of the whole product; "": all
  uint64_t seed = 1;
  bool full = false;                            // the whole product instead of a pairwise sample
  bool brief = false;                           // rows that another row represents run briefly
  std::optional<CompositeMode> composite = {};  // of fused rows this mode alone
  int64_t max_elements = 0;  // cases with more in all operands are left out; 0: none is
  std::vector<std::string> long_ops = {};  // rows whose long cases run all the same
  int64_t differences = 0;  // of a gradient at most so many elements, drawn, are compared; 0: all
};

/// A geometry of more elements than this is large: the emulator runs it once per dtype instead of
/// in the sample. In the brief sample the limit is lower, and the emulator runs each large geometry
/// and each dtype at least once.
inline constexpr int64_t kLargeElements = 20000, kLargeElementsOfBrief = 5000;

int64_t elements_of(const Geometry& geometry);

/// Whether the options ask for a combination of dtypes.
bool selects(const Options& options, const std::vector<DType>& dtypes);

/// The cases of a row: a pairwise sample of dtypes x geometries x places x values x composite, or
/// the whole product; and the long ones, except on the emulator. The brief sample of a row that
/// another one represents: each combination of dtypes once with random values and once with special
/// ones, on contiguous operands of the row's largest geometry that is not large.
std::vector<Case> cases_of(const Row& row, const Options& options, bool emulated);

/// What came of a case. One of which nobody said what came of it has not run, which is a failure.
struct Outcome {
  enum class State { kNotRun, kPassed, kFailed };
  State state = State::kNotRun;
  std::string text = {};     // what failed
  double worst = 0;          // in the unit of the row's tolerance
  double share = 0;          // of its bound
  double worst_at_edge = 0;  // in ulp

  bool passed() const { return state == State::kPassed; }
};
inline Outcome passed() { return {.state = Outcome::State::kPassed}; }
inline Outcome failed(std::string text) {
  return {.state = Outcome::State::kFailed, .text = std::move(text)};
}

/// Runs one case: the result against the reference, the same bits when run again and, on a CPU of
/// several threads, in one, inputs and what is around them unchanged, and the same bits where the
/// result is written over the first operand.
Outcome check_case(const Row& row, const Case& c, const Device& device, uint64_t seed);

/// The operands of a case: the same for every device and selection.
std::vector<Placement> operands_of(const Row& row, const Case& c, uint64_t seed);

/// Counts and worst errors of the ops, printed at the end.
class Report {
 public:
  /// Failures beyond this many of an op on a device are counted, not printed.
  static constexpr int kPrinted = 5;

  void add(const Row& row, const std::string& device, const std::string& case_text,
           const std::string& command, const Outcome& outcome);
  /// Notes a check that has no bound: a behaviour, a gradient.
  void add(const std::string& op, const std::string& device, const std::string& what,
           const std::string& command, const Outcome& outcome);
  /// Adds to the time that the op's cases took.
  void add_seconds(const std::string& op, double seconds);
  /// Cases of an op that are not run: why, and what is not there.
  void leave_out(const std::string& op, int64_t cases, const std::string& reason);
  /// Notes a device that is not there.
  void skip(const std::string& what, const std::string& reason);
  /// What the end says of bounds: nothing (they are no matter of the mode), how near the worst
  /// error came, or also that one which is loose without a reason fails. A part of the sample has
  /// not seen the worst.
  enum class Bounds { kNone, kShow, kJudge };
  /// Prints the tables, and "3 passed, 0 failed, 1 left out"; returns whether none failed and some
  /// passed.
  bool finish(Bounds bounds) const;

 private:
  struct Line {
    int64_t passed = 0, failed = 0, left_out = 0;
    double seconds = 0;
    double worst = 0, share = 0, worst_at_edge = 0;
    std::string bound, worst_where;
    const char* loose_for = nullptr;  // the row's reason
    std::optional<Edge> edge;
    bool has_bound = false;
    std::map<std::string, int> failed_on;
  };
  Line& line(const std::string& op);
  /// What is wrong with a row's bound, beside its worst error; "": nothing.
  static std::string wrong_bound(const Line& line);
  void count(const std::string& op, const std::string& device, const std::string& what,
             const std::string& command, const Outcome& outcome);

  std::vector<std::string> order_;
  std::map<std::string, Line> lines_;
  std::map<std::string, int64_t> left_out_;  // cases, by reason
  std::vector<std::string> skipped_;
};

/// The cases of a row, as a mode takes them from a row and the options.
using CasesOf = std::function<std::vector<Case>(const Row&, const Options&)>;

/// The cases that run. Those that do not are counted in the report: of more elements than the options
/// allow.
std::vector<Case> cases_on(const Row& row, const Options& options, const CasesOf& cases_of,
                           Report& report);

}  // namespace wick::conformance
