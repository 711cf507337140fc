// Multiplies rows into cases and checks them on a device.
#pragma once
#include <cstdio>
#include <map>

#include "compare.h"
#include "placement.h"

namespace wick::conformance {

struct Options {
  std::vector<std::string> ops;     // none: all
  std::vector<std::string> dtypes;  // none: all; else rows' combinations of these, and of ids (i64)
  std::string case_text;            // this one, of the whole product; "": all
  uint64_t seed = 1;
  bool full = false;                            // the whole product instead of a pairwise sample
  std::optional<CompositeMode> composite = {};  // of fused rows this mode alone
  int64_t max_elements = 0;  // geometries with more in all operands are left out; 0: none is
};

/// A geometry of more elements than this is large: the emulator gets it once per dtype instead of
/// in the sample.
inline constexpr int64_t kLargeElements = 20000;

int64_t elements_of(const Geometry& geometry);

/// Whether the options ask for a combination of dtypes.
bool selects(const Options& options, const std::vector<DType>& dtypes);

/// The row with the dtypes alone for which the device has kernels: all of the CPU's, and of fused
/// ones'.
Row served_on(const Device& device, const Row& row);

/// The cases of a row: a pairwise sample of dtypes x geometries x places x values x composite, or
/// all.
std::vector<Case> cases_of(const Row& row, const Options& options, bool emulated);

struct Outcome {
  bool passed = true;
  std::string text = {};     // what failed
  double worst = 0;          // in the unit of the row's tolerance
  double share = 0;          // of its bound
  double worst_at_edge = 0;  // in ulp
  std::string missing = {};  // the op that the case is made of and the device has no kernel of
};

/// What an Unsupported error is about: "" if the device should have had a kernel. So far cards
/// serve fewer ops than the CPU; those that they do serve they may not lose.
std::string missing_kernel(const Error& error, const Device& device);

/// Runs one case: the result against the reference, the same bits when run again, inputs and what
/// is around them unchanged, and the same bits where the result is written over the first operand.
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
  /// Of a check that has no bound: a behaviour, a gradient.
  void add(const std::string& op, const std::string& device, const std::string& what,
           const std::string& command, const Outcome& outcome);
  void skip(const std::string& what, const std::string& reason);
  /// Prints the tables; returns whether all passed and something ran.
  bool finish(bool with_bounds) const;

 private:
  struct Line {
    int64_t cases = 0, failed = 0;
    double worst = 0, share = 0, worst_at_edge = 0;
    std::string bound, worst_where;
    std::optional<Edge> edge;
    bool has_bound = false;
    std::map<std::string, int> failed_on;
  };
  Line& line(const std::string& op);
  void count(Line& line, const std::string& op, const std::string& device, const std::string& what,
             const std::string& command, const Outcome& outcome);

  std::vector<std::string> order_;
  std::map<std::string, Line> lines_;
  std::map<std::string, std::map<std::string, int64_t>> missing_;  // of each device, by op
  std::vector<std::string> skipped_;
};

}  // namespace wick::conformance
