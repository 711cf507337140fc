// Where tensors live and work is done.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/abi/dtype.h"
#include "wick/base/error.h"

namespace wick {

struct Backend;
struct DeviceInfo;
class DeviceState;

/// Kinds from kFirstRegistered on belong to backends that users register (core/backend.h).
enum class DeviceKind : uint8_t { kCpu, kRocm, kCuda, kMetal, kEmulated, kFirstRegistered };

/// A name for a device that need not be there.
struct DeviceLocation {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0;
  bool operator==(const DeviceLocation&) const = default;
};
/// The name as text: "cpu", "rocm:0", "emu:32".
WICK_API std::string to_string(const DeviceLocation& location);

/// A device that is there: cheap to copy, compared by identity.
class WICK_API Device {
 public:
  /// The CPU.
  Device();
  static Device cpu() { return Device(); }
  /// A card by its ordinal. Errors, of all of these: kModuleMissing, kRuntimeMissing or
  /// kDeviceMissing, which say what would help.
  static Device rocm(int ordinal = 0);
  static Device cuda(int ordinal = 0);
  /// Always an error: there is no Metal backend.
  static Device metal(int ordinal = 0);
  /// The emulator of the GPU execution model, with waves of 32 or 64 threads: for tests.
  static Device emulated(int wave);
  /// The card if it is there, else the CPU.
  static Device rocm_if_available(int ordinal = 0);
  static Device cuda_if_available(int ordinal = 0);
  /// The best device: a discrete card before an integrated one before the CPU; never an emulator.
  static Device best();
  static Device at(DeviceLocation location);
  /// The device that a text names: "cpu", "rocm", "rocm:0", "cuda:1", "metal", "emu:32", "auto"
  /// (best) or a registered backend's "name:ordinal". Errors: kInvalidArgument for another text.
  static Device parse(std::string_view text);

  DeviceLocation location() const;
  DeviceKind kind() const { return location().kind; }
  int ordinal() const { return location().ordinal; }
  bool is_cpu() const { return kind() == DeviceKind::kCpu; }
  bool is_rocm() const { return kind() == DeviceKind::kRocm; }
  bool is_cuda() const { return kind() == DeviceKind::kCuda; }
  bool is_metal() const { return kind() == DeviceKind::kMetal; }
  bool is_emulated() const { return kind() == DeviceKind::kEmulated; }
  bool same_device(const Device& other) const { return state_ == other.state_; }
  bool operator==(const Device& other) const = default;

  /// Name, architecture, memory ...: see abi/backend.h.
  const DeviceInfo& info() const;
  /// Whether bf16 is computed here.
  bool supports_bf16() const;
  /// The dtype that models load as: bf16 on cards that have it, else f32.
  DType preferred_dtype() const;

  /// Sets the seed of random numbers: the same seed gives the same uniform numbers on every device.
  void set_seed(uint64_t seed) const;
  uint64_t current_seed() const;

  /// Waits for all work; errors of kernels that ran surface here. Errors: kKernelError,
  /// kOutOfRange, kRocm, kCuda.
  void synchronize() const;
  /// Returns the caching allocator's unused memory to the device.
  void empty_cache() const;

  DeviceState& state() const { return *state_; }

 private:
  explicit Device(DeviceState* state) : state_(state) {}
  DeviceState* state_;
};
/// The device's location as text: "cpu", "rocm:0".
WICK_API std::string to_string(const Device& device);

/// The AMD runtime's handles of a device, for calling it directly; valid while the process runs.
struct RocmDevice {
  DeviceLocation location;
  int64_t device;  // hipDevice_t
  void* stream;    // hipStream_t
  int64_t hip_device() const { return device; }
  void* hip_stream() const { return stream; }
  int ordinal() const { return location.ordinal; }
  WICK_API std::string arch() const;
};
/// The NVIDIA runtime's handles of a device.
struct CudaDevice {
  DeviceLocation location;
  int64_t device;  // CUdevice
  void* stream;    // cudaStream_t
};
/// The runtime's handles of a device of that kind. Errors: kDeviceMismatch, which names both kinds.
WICK_API RocmDevice as_rocm(const Device& device);
WICK_API CudaDevice as_cuda(const Device& device);

WICK_API bool rocm_is_available();
WICK_API int rocm_device_count();
WICK_API bool cuda_is_available();
WICK_API int cuda_device_count();

}  // namespace wick
