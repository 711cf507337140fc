// Which backends there are: the CPU, the modules found at run time, and what a user registers.
#pragma once
#include <string>
#include <vector>

#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick {

/// Adds a backend of one's own, which must outlive the process's work: its devices are then
/// "name:ordinal". Errors: kInvalidArgument if the table is of another ABI, incomplete, or its name
/// is taken.
WICK_API DeviceKind register_backend(const Backend* backend);

/// What a backend has: its devices, and if there are none, why, and what would help.
struct BackendStatus {
  std::string name;      // "rocm"
  std::string module;    // the path of what was loaded, "" if nothing was
  std::string why_none;  // why there are no devices, "" if there are some
  std::vector<DeviceInfo> devices;
  std::vector<std::string> unusable;  // one line for each device that is there and cannot be used
};
WICK_API std::vector<BackendStatus> backend_status();

/// Who would serve an op on a device: a kernel's name and whether it is a vendor's library. For `wick
/// devices --ops`.
struct KernelSummary {
  std::string name;
  bool library;
};
/// Kernels of an op. dtype: the op's own, from which operands' follow; any: that of an operand "*".
WICK_API std::vector<KernelSummary> kernels_of(const Device& device, const Op& op, DType dtype,
                                               DType any);
WICK_API std::vector<KernelSummary> kernels_of(const Device& device, const Op& op, DType dtype);
/// Every op that the device's backend has kernels of, by name. The CPU has them all.
WICK_API std::vector<const Op*> ops_of(const Device& device);

}  // namespace wick
