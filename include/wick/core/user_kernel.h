// Kernels that users bring: code objects loaded from files or compiled from source, and launches of
// their kernels on tensors. docs/how-to/custom-op.md shows how to make an op of one.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "wick/core/stream.h"
#include "wick/core/var.h"

namespace wick {

/// Blocks of a grid or threads of a block: `256`, `{16, 16}`.
struct Dim3 {
  constexpr Dim3(int64_t x, int64_t y = 1, int64_t z = 1) : x(x), y(y), z(z) {}  // NOLINT
  int64_t x, y, z;
};

/// A kernel's argument. A tensor is passed as the address of its first element, nullptr if it has
/// no elements; strides are for the kernel to know. A Var is passed alike and counts as
/// overwritten, so that a gradient which needs its old value is an error. Other values are copied
/// as they are: they must have the size of the kernel's parameter, so write `int64_t(n)`, `1.0f`.
class WICK_API KernelArgument {
 public:
  KernelArgument(const Tensor& x);                                            // NOLINT
  KernelArgument(const Var& x) : KernelArgument(x.tensor()) { var_ = true; }  // NOLINT
  KernelArgument(std::nullptr_t) : bytes_(sizeof(void*)) {}                   // NOLINT
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !std::is_same_v<T, Dim3>)
      KernelArgument(const T& value)  // NOLINT: valid during the call that it is written in
      : value_(&value), bytes_(int(sizeof value)) {}

  /// The bytes of a value whose type the program finds out as it runs.
  static KernelArgument of_bytes(std::span<const std::byte> value) {
    KernelArgument argument(nullptr);
    argument.value_ = value.data();
    argument.bytes_ = int(value.size());
    return argument;
  }

  const void* address() const { return value_ ? value_ : &pointer_; }
  int bytes() const { return bytes_; }
  const Tensor* tensor() const { return tensor_; }
  bool is_var() const { return var_; }

 private:
  const void* value_ = nullptr;
  void* pointer_ = nullptr;
  const Tensor* tensor_ = nullptr;
  int bytes_;
  bool var_ = false;
};

/// A kernel of a KernelModule, which it keeps loaded. Cheap to copy.
class WICK_API KernelFunction {
 public:
  const std::string& name() const;
  const Device& device() const;

  /// Launches the kernel on the current stream of the device, in order with its ops:
  ///
  ///   axpy.launch((n + 255) / 256, 256, 0, y, x, 3.0f, int(n));
  ///
  /// grid            blocks; with a 0 in it nothing runs
  /// block           threads of a block
  /// shared_bytes    dynamic shared memory of a block
  /// Returns without waiting. Tensors may be released at once: their memory is not reused before
  /// the kernel is done. The tape does not record the launch; a CustomOp does.
  /// Errors: kInvalidArgument if the number or a size of the arguments is not the kernel's, or
  /// block or shared_bytes is more than the kernel or the device takes; kDeviceMismatch if a tensor
  /// is on another device; kRocm, kCuda.
  template <class... Arguments>
  void launch(Dim3 grid, Dim3 block, int64_t shared_bytes, const Arguments&... arguments) const {
    const std::array<KernelArgument, sizeof...(arguments)> all{KernelArgument(arguments)...};
    launch_on(nullptr, grid, block, shared_bytes, all);
  }
  /// Launches on another stream of the device. The caller orders it before and after other streams'
  /// work by events.
  template <class... Arguments>
  void launch(Dim3 grid, Dim3 block, int64_t shared_bytes, const Stream& stream,
              const Arguments&... arguments) const {
    const std::array<KernelArgument, sizeof...(arguments)> all{KernelArgument(arguments)...};
    launch_on(&stream, grid, block, shared_bytes, all);
  }

  /// Launches with arguments whose number the program finds out as it runs. stream: nullptr for the
  /// current one.
  void launch_list(Dim3 grid, Dim3 block, int64_t shared_bytes,
                   std::span<const KernelArgument> arguments,
                   const Stream* stream = nullptr) const {
    launch_on(stream, grid, block, shared_bytes, arguments);
  }

  /// Launches an elementwise kernel that takes its operands' layouts from memory:
  ///
  ///   kernel(size_t numel, size_t num_dims, const size_t* info, inputs..., output, more...)
  ///
  /// info is in device memory: output's dims, then the strides of each input in elements, 0 in
  /// broadcast dims. It is nullptr if every input is contiguous and of output's shape; with three
  /// inputs it is always there. Threads of a block: 256; the grid covers numel. An empty Tensor()
  /// as an input is a nullptr, by which such kernels mean output itself: they then overwrite it.
  /// Errors: as launch; kInvalidArgument if output is not contiguous; kShapeMismatch if an input
  /// does not broadcast to output's shape.
  void launch_with_layout_info(std::initializer_list<Tensor> inputs, const KernelArgument& output,
                               std::initializer_list<KernelArgument> more = {}) const;

 private:
  friend class KernelModule;
  struct Impl;
  explicit KernelFunction(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  void launch_on(const Stream* stream, Dim3 grid, Dim3 block, int64_t shared_bytes,
                 std::span<const KernelArgument> arguments) const;
  std::shared_ptr<const Impl> impl_;
};

/// Machine code for a device, loaded from a file or compiled. Cheap to copy; unloaded when the last
/// copy and the last KernelFunction of it are gone.
class WICK_API KernelModule {
 public:
  /// Loads a file. On ROCm: a code object (.hsaco) or a bundle of them (.fatbin, compressed or
  /// not), as hipcc or clang with --offload-arch make them. On CUDA: a .cubin, a .fatbin or PTX of
  /// nvcc.
  /// Errors: kIo; kInvalidArgument if the file is damaged or of another format; kKernelNotFound if
  /// it has no code for this GPU, naming both; kKernelModuleNotLoaded if the runtime refuses it;
  /// kUnsupported on a device that loads no code.
  static KernelModule load(const Device& device, const std::string& path);
  /// Loads code from memory. name: for errors.
  static KernelModule from_bytes(const Device& device, std::span<const std::byte> bytes,
                                 const std::string& name);
  /// Compiles source to code with one kernel, `extern "C" __global__ void NAME(...)`, in the words
  /// that HIP and CUDA share (compile_kernel, wick/ops/formula.h). wick caches the code on disk.
  ///
  /// name     the kernel's: an identifier of at most 255 characters
  /// options  of the device's compiler: "-DTILE=16"
  /// Errors: kInvalidArgument if name is not an identifier or the compiler rejects the source, with
  /// its first complaints; kKernelNotFound if the source has no such kernel; kUnsupported on a
  /// device that compiles no source, or without a compiler.
  static KernelModule compile(const Device& device, const std::string& name,
                              const std::string& source,
                              const std::vector<std::string>& options = {});

  const Device& device() const;
  /// A kernel by its name in the code: a C++ function's is mangled unless it is extern "C". Errors:
  /// kKernelNotFound, listing the kernels that are there.
  KernelFunction function(const std::string& name) const;

 private:
  friend class KernelFunction;
  struct Impl;
  explicit KernelModule(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace wick
