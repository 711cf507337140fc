// Devices, which hold tensors and run ops.
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

/// Kinds from kFirstRegistered on are backends that users registered (core/backend.h).
enum class DeviceKind : uint8_t { kCpu, kRocm, kCuda, kMetal, kEmulated, kFirstRegistered };

/// Names a device, which may not exist.
struct DeviceLocation {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0;
  bool operator==(const DeviceLocation&) const = default;
};
/// The location as text: "cpu", "rocm:0", "emu:32".
WICK_API std::string to_string(const DeviceLocation& location);

/// An existing device. Cheap to copy, compared by identity.
class WICK_API Device {
 public:
  /// The CPU.
  Device();
  static Device cpu() { return Device(); }
  /// A card by ordinal. Errors for all factory functions: kModuleMissing, kRuntimeMissing or
  /// kDeviceMissing, with a remedy in the text.
  static Device rocm(int ordinal = 0);
  static Device cuda(int ordinal = 0);
  /// Always throws: there is no Metal backend.
  static Device metal(int ordinal = 0);
  /// The emulator of the GPU execution model, with waves of 32 or 64 threads, for tests.
  static Device emulated(int wave);
  /// The card if it is available, else the CPU.
  static Device rocm_if_available(int ordinal = 0);
  static Device cuda_if_available(int ordinal = 0);
  /// The device that WICK_DEVICE names, else the best one available: a discrete card, else an
  /// integrated one, else the CPU. Errors: as parse, naming the variable.
  static Device best();
  static Device at(DeviceLocation location);
  /// Parses a device name: "cpu", "rocm", "rocm:0", "cuda:1", "metal", "emu:32", "auto" (see best)
  /// or a registered backend's "name:ordinal". Errors: kInvalidArgument for any other text.
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

  /// Name, architecture, memory and so on; see abi/backend.h.
  const DeviceInfo& info() const;
  /// Whether the device computes in bf16.
  bool supports_bf16() const;
  /// The default dtype for loading models: bf16 on cards that support it, else f32.
  DType preferred_dtype() const;

  /// Sets the random seed. The same seed gives the same uniform numbers on every device.
  void set_seed(uint64_t seed) const;
  uint64_t current_seed() const;

  /// Waits for all work on the device and throws errors recorded by kernels. Errors: kKernelError,
  /// kOutOfRange, kRocm, kCuda.
  void synchronize() const;
  /// The memory of the device: a card's, or the host's.
  struct Memory {
    int64_t free_bytes, total_bytes;  // free: unused blocks of the caching allocator count
  };
  /// Errors: kRocm, kCuda.
  Memory memory() const;
  /// Returns the caching allocator's unused memory to the device.
  void empty_cache() const;

  DeviceState& state() const { return *state_; }

 private:
  explicit Device(DeviceState* state) : state_(state) {}
  DeviceState* state_;
};
/// The device's location as text: "cpu", "rocm:0".
WICK_API std::string to_string(const Device& device);

/// HIP handles of a device, for calling the runtime directly; valid for the life of the process.
struct RocmDevice {
  DeviceLocation location;
  int64_t device;  // hipDevice_t
  void* stream;    // hipStream_t
  int64_t hip_device() const { return device; }
  void* hip_stream() const { return stream; }
  int ordinal() const { return location.ordinal; }
  WICK_API std::string arch() const;
};
/// CUDA handles of a device, for calling the runtime directly.
struct CudaDevice {
  DeviceLocation location;
  int64_t device;  // CUdevice
  void* stream;    // cudaStream_t
};
/// The runtime handles of a ROCm or CUDA device. Errors: kDeviceMismatch if the device is of
/// another kind; the text names both.
WICK_API RocmDevice as_rocm(const Device& device);
WICK_API CudaDevice as_cuda(const Device& device);

WICK_API bool rocm_is_available();
WICK_API int rocm_device_count();
WICK_API bool cuda_is_available();
WICK_API int cuda_device_count();

}  // namespace wick
