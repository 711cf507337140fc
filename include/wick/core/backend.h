// Backends: the CPU, modules found at run time, and those that users register.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick {

/// Registers a user-defined backend, which must live until all work on it has finished. Its devices
/// are named "name:ordinal". Errors: kInvalidArgument if the table is incomplete or has another ABI
/// version, or its name is taken.
WICK_API DeviceKind register_backend(const Backend* backend);

/// The devices of a backend, or the reason why it lacks any and a remedy.
struct BackendStatus {
  std::string name;         // "rocm"
  std::string module;       // path of the loaded module, "" without one
  std::string why_none;     // reason that there are no devices, "" if there are some
  bool no_runtime = false;  // the module is loaded, the vendor's runtime cannot be
  std::vector<DeviceInfo> devices;
  std::vector<std::string> unusable;  // one line for each device that exists but cannot be used
  std::vector<std::string> runtime;   // lines about the vendor's runtime: its file, oddities
};
WICK_API std::vector<BackendStatus> backend_status();

/// Tests copies straight from one device to another of the same backend, once: "" if the bytes
/// arrive, else the reason why tensors go through host memory. Empty for devices without such
/// copies: of two backends, or of a backend that lacks them.
WICK_API std::optional<std::string> copy_failure(const Device& from, const Device& to);

/// A kernel that implements an op on a device: its name, and whether it is a vendor library. Used
/// by `wick devices --ops`.
struct KernelSummary {
  std::string name;
  bool library;
};
/// The kernels of an op. dtype: the op's dtype, which determines the operand dtypes; any: the dtype
/// of "*" operands.
WICK_API std::vector<KernelSummary> kernels_of(const Device& device, const Op& op, DType dtype,
                                               DType any);
WICK_API std::vector<KernelSummary> kernels_of(const Device& device, const Op& op, DType dtype);
/// Every op that the device's backend has kernels for, sorted by name. The CPU has kernels for all.
WICK_API std::vector<const Op*> ops_of(const Device& device);

}  // namespace wick
