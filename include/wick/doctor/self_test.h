// The self-test of the kernels that wick has for a device, and the rates that the device reaches.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/doctor/doctor.h"

namespace wick {

/// A kernel of the device's backend, for an op and dtypes.
struct KernelResult {
  std::string op;
  std::string dtypes;  // "f16,f16:f16": inputs, then outputs
  std::string name;
  bool library = false;            // a vendor's
  int64_t passed = 0, failed = 0;  // cases; both 0: no case reached it
  std::string reason = {};         // why it rejected the last call that came near it
};

/// A case whose result is not within the op's bound.
struct SelfTestFailure {
  std::string row, case_text;        // as wick-conformance names them
  std::string text;                  // the error, or how the process ended
  std::vector<std::string> kernels;  // that ran in the case
};

struct SelfTest {
  std::string device, name, architecture;
  int64_t passed = 0, failed = 0;  // cases
  double seconds = 0;
  bool is_part = false;  // rows were selected
  std::vector<KernelResult> kernels;
  std::vector<SelfTestFailure> failures;  // the first ones of each row
  std::string broken;  // the reason that the test could not run to its end; "" if it did
};

struct SelfTestOptions {
  std::string program = {};  // wick-conformance
  std::string device = "auto";
  std::vector<std::string> rows = {};  // as wick-conformance --list names them; empty: all
  int64_t max_elements = 20000;        // of a case's operands
  int64_t silence_ms = 300000;         // after which a case counts as hung
  std::function<void(const std::string& row, int64_t done, int64_t total)> progress = {};
};

/// Runs every kernel that the device's backend has on small operands, beside a reference in more
/// than double precision, within the bounds that the ops document. The program runs as a process
/// of its own: a row that ends it or hangs is a failure, and the others follow.
/// Errors: kInvalidArgument for an unknown row or device; kDeviceMissing; kIo if interrupted.
WICK_API SelfTest test_kernels(const SelfTestOptions& options);

/// The test as an object of JSON: numbers of kernels, the kernels that failed and that no case
/// reached, the failures.
WICK_API Settings to_settings(const SelfTest& test);
WICK_API std::string to_text(const SelfTest& test);

/// A rate that a device reaches, beside its data sheet.
struct Rate {
  std::string name;  // "copy", "f16 products"
  std::string unit;  // "GB/s", "TFLOP/s"
  double measured = 0;
  double data_sheet = 0;  // 0: unknown
};
struct Rates {
  std::string device = {}, name = {}, architecture = {};
  std::vector<Rate> rates = {};
  std::string source = {};  // of the data sheet's figures
  std::string broken = {};  // the reason that there are no rates; "" if there are some
};

/// Measures copies and matrix products on a device in this process. Errors: as Device::parse and
/// the ops.
WICK_API Rates measure_rates(const std::string& device);
/// The rates as one line of JSON after a mark, by which measure_rates_by finds it.
WICK_API std::string rates_line(const std::string& device);
/// Runs a command that prints rates_line.
WICK_API Rates measure_rates_by(const std::vector<std::string>& command);
WICK_API Settings to_settings(const Rates& rates);
WICK_API std::string to_text(const Rates& rates);

/// Adds a finding for kernels that failed, a test that broke, and rates far below the data sheet.
WICK_API void add_findings(const SelfTest& test, Diagnosis* diagnosis);
WICK_API void add_findings(const Rates& rates, Diagnosis* diagnosis);

}  // namespace wick
