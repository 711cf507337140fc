// A device in front of another one, which records the kernels that run and can choose among them.
#pragma once
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick::conformance {

/// A kernel of a backend for an op and dtypes.
struct WitnessedKernel {
  std::string op;
  std::string dtypes;  // "f16,f16:f16": inputs, then outputs
  std::string name;
  const Kernel* kernel = nullptr;  // the backend's
  const std::vector<WitnessedKernel*>* rivals =
      nullptr;                   // for the same op and dtypes, itself among them
  bool is_proven = false;        // set by the user: take_passed_over leaves it out
  const char* reason = nullptr;  // for which it rejected the last call that a rival took

  bool is_library() const { return (kernel->flags & kKernelLibrary) != 0; }
};

/// Registers a backend whose kernels, memory and streams are those of a device's backend. One per
/// process; it lives as long as the process.
class Witness {
 public:
  /// Errors: kInvalidArgument if the process has a witness.
  explicit Witness(const Device& device);
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// The device in front.
  const Device& device() const { return device_; }
  /// Every kernel of the backend, by op and dtypes.
  std::vector<WitnessedKernel*> kernels();

  /// The kernels that have been launched since the last call.
  std::set<WitnessedKernel*> take_launched();
  /// The kernels that would have accepted a launch since the last call but stood after the one that
  /// ran.
  std::set<WitnessedKernel*> take_passed_over();
  /// From now on this kernel runs wherever it accepts a call; nullptr: the order of the backend.
  void prefer(const WitnessedKernel* kernel);
  /// Whether the preferred kernel declined a call after accepting it.
  bool preferred_declined() const { return declined_; }

 private:
  struct List {
    std::vector<Kernel> table;  // as the core sees it
    std::deque<WitnessedKernel> kernels;
    std::vector<WitnessedKernel*> rivals;
  };
  static int32 find_kernels(int32 device, const KernelQuery* query, const Kernel** kernels);
  static const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* info);
  static int64 scratch_bytes(const Kernel* kernel, const Call* call, const DeviceInfo* info);
  static Status run(const Kernel* kernel, const Call* call);
  List& list_of(const KernelQuery& query);

  const Device inner_;
  const Backend& backend_;
  Backend table_;
  std::string name_;
  Device device_;
  std::mutex mutex_;
  std::map<std::string, List> lists_;  // by op and dtypes
  std::set<WitnessedKernel*> launched_, passed_over_;
  const WitnessedKernel* preferred_ = nullptr;
  bool declined_ = false;
};

}  // namespace wick::conformance
